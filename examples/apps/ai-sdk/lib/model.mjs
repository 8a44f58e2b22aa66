// Where the documentation writes `model: openai('gpt-6-astra')`: the model of one of four model APIs.
// Base URL and key come from what the providers read: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, and the keys beside them.
import { anthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { openai } from "@ai-sdk/openai";

// The Google provider reads its key from the environment, but takes its base URL only as an option; the variable is that
// of Google's own SDKs.
const base = process.env.GOOGLE_GEMINI_BASE_URL;
const google = createGoogle(base ? { baseURL: `${base}/v1beta` } : {});

const models = {
  responses: () => openai(process.env.MODEL ?? "gpt-6-astra"),
  chat: () => openai.chat(process.env.MODEL ?? "gpt-6-astra"),
  anthropic: () => anthropic(process.env.MODEL ?? "claude-sonnet-5-5"),
  gemini: () => google(process.env.MODEL ?? "gemini-4-argon"),
};

const api = process.env.MODEL_API ?? "responses";
if (!(api in models)) {
  throw new Error(`MODEL_API is ${api}; it has to be one of ${Object.keys(models).join(", ")}`);
}

export const model = models[api]();
