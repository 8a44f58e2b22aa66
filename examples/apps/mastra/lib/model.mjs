// Where the documentation writes `model: 'openai/gpt-5.4'`: the model of one of four model APIs.
// Mastra's model router reads OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_BASE_URL, and the keys beside them.
import { openai } from "@ai-sdk/openai";

const models = {
  responses: "openai/gpt-5.4",
  chat: openai.chat("gpt-5.4"),
  anthropic: "anthropic/claude-sonnet-4-6",
  gemini: "google/gemini-3-pro-preview",
};

const api = process.env.MODEL_API ?? "responses";
if (!(api in models)) {
  throw new Error(`MODEL_API is ${api}; it has to be one of ${Object.keys(models).join(", ")}`);
}

export const model = models[api];
