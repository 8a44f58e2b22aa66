// The official SDKs in Node, and the AI SDK, as readers of a model API.
//
// In: the base URL as the argument; a job a line on standard input: {client, api, mode, prompt}. Out: a JSON line for
// each: what was read ({text, thinking, calls, finish, usage, error}); whatever the SDK logs or warns is a complaint.
import { createInterface } from "node:readline";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { Ollama } from "ollama";
import OpenAI from "openai";

const base = process.argv[2];
const parameters = {
  type: "object",
  properties: { city: { type: "string" }, nights: { type: "integer" } },
  additionalProperties: true,
};
let said = [];
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...words) => said.push(words.join(" "));

const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: "x", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: base, apiKey: "x", maxRetries: 0 });
const genai = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: base } });
const ollama = new Ollama({ host: base });
const ai = {
  openai: createOpenAI({ baseURL: `${base}/v1`, apiKey: "x" }),
  anthropic: createAnthropic({ baseURL: `${base}/v1`, apiKey: "x" }),
  google: createGoogleGenerativeAI({ baseURL: `${base}/v1beta`, apiKey: "x" }),
};
const models = {
  "openai-chat": () => ai.openai.chat("gpt-4o"),
  "openai-responses": () => ai.openai.responses("gpt-5"),
  anthropic: () => ai.anthropic("claude-sonnet-4-6"),
  gemini: () => ai.google("gemini-3-flash-preview"),
};
const counted = (...numbers) => numbers.map((n) => n ?? 0);

const chatRequest = (prompt) => ({
  model: "gpt-4o",
  messages: [{ role: "user", content: prompt }],
  tools: [{ type: "function", function: { name: "book_hotel", parameters } }],
});
const chatUsage = (u) =>
  counted(u.prompt_tokens, u.completion_tokens, u.prompt_tokens_details.cached_tokens, u.completion_tokens_details.reasoning_tokens);

function chatMessage(notes, answer) {
  const [choice] = answer.choices;
  notes.text = choice.message.content ?? "";
  notes.finish = choice.finish_reason;
  notes.calls = (choice.message.tool_calls ?? []).map((c) => [c.id, c.function.name, c.function.arguments]);
  if (answer.usage) notes.usage = chatUsage(answer.usage);
}

function response(notes, answer) {
  notes.text = answer.output_text ?? notes.text;
  const reasoning = answer.output.filter((item) => item.type === "reasoning");
  notes.thinking = reasoning.flatMap((item) => item.summary.map((part) => part.text)).join("");
  notes.calls = answer.output.filter((i) => i.type === "function_call").map((i) => [i.call_id, i.name, i.arguments]);
  notes.finish = answer.incomplete_details?.reason ?? answer.status;
  const { input_tokens, output_tokens, input_tokens_details: input, output_tokens_details: output } = answer.usage;
  notes.usage = counted(input_tokens, output_tokens, input.cached_tokens, output.reasoning_tokens);
}

const responsesRequest = (prompt) => ({
  model: "gpt-5",
  input: prompt,
  tools: [{ type: "function", name: "book_hotel", parameters, strict: false }],
});
const messagesRequest = (prompt) => ({
  model: "claude-sonnet-4-6",
  max_tokens: 1000,
  messages: [{ role: "user", content: prompt }],
  tools: [{ name: "book_hotel", input_schema: parameters }],
});
const tokens = (u) =>
  counted(u.input_tokens + (u.cache_read_input_tokens ?? 0), u.output_tokens, u.cache_read_input_tokens, u.output_tokens_details?.thinking_tokens);

function message(notes, answer) {
  for (const block of answer.content) {
    if (block.type === "text") notes.text += block.text;
    if (block.type === "thinking") notes.thinking += block.thinking;
    if (block.type === "tool_use") notes.calls.push([block.id, block.name, block.input]);
  }
  notes.finish = answer.stop_reason;
  notes.usage = tokens(answer.usage);
}

const geminiRequest = (prompt) => ({
  model: "gemini-3-flash-preview",
  contents: prompt,
  config: { tools: [{ functionDeclarations: [{ name: "book_hotel", parametersJsonSchema: parameters }] }] },
});

function generated(notes, answer) {
  const [candidate] = answer.candidates;
  for (const part of candidate.content.parts) {
    if (part.functionCall) notes.calls.push([part.functionCall.id, part.functionCall.name, part.functionCall.args]);
    else if (part.thought) notes.thinking += part.text;
    else notes.text += part.text;
  }
  if (candidate.finishReason) {
    const u = answer.usageMetadata;
    const thoughts = u.thoughtsTokenCount ?? 0;
    notes.finish = candidate.finishReason;
    notes.usage = counted(u.promptTokenCount, u.candidatesTokenCount + thoughts, u.cachedContentTokenCount, thoughts);
  }
}

const ollamaRequest = (prompt) => ({
  model: "llama3.2",
  messages: [{ role: "user", content: prompt }],
  tools: [{ type: "function", function: { name: "book_hotel", description: "", parameters } }],
});

function chatted(notes, answer) {
  notes.text += answer.message.content;
  notes.thinking += answer.message.thinking ?? "";
  for (const call of answer.message.tool_calls ?? []) notes.calls.push([call.id, call.function.name, call.function.arguments]);
  if (answer.done) {
    notes.finish = answer.done_reason;
    notes.usage = counted(answer.prompt_eval_count, answer.eval_count, 0, 0);
  }
}

const aiRequest = (api, prompt) => ({
  model: models[api](),
  prompt,
  maxRetries: 0,
  tools: { book_hotel: tool({ inputSchema: jsonSchema(parameters) }) },
});
const aiUsage = (u) => counted(u.inputTokens, u.outputTokens, u.inputTokenDetails.cacheReadTokens, u.outputTokenDetails.reasoningTokens);

const readers = {
  async "openai openai-chat stream"(notes, { prompt }) {
    const calls = [];
    const asked = { ...chatRequest(prompt), stream: true, stream_options: { include_usage: true } };
    for await (const chunk of await openai.chat.completions.create(asked)) {
      if (chunk.usage) notes.usage = chatUsage(chunk.usage);
      for (const { delta, finish_reason } of chunk.choices) {
        notes.text += delta.content ?? "";
        notes.thinking += delta.reasoning_content ?? "";
        notes.finish = finish_reason ?? notes.finish;
        for (const call of delta.tool_calls ?? []) {
          calls[call.index] ??= [call.id, call.function.name, ""];
          calls[call.index][2] += call.function.arguments;
        }
        notes.calls = calls;
      }
    }
  },
  async "openai openai-chat helper"(notes, { prompt }) {
    const stream = openai.chat.completions.stream({ ...chatRequest(prompt), stream_options: { include_usage: true } });
    stream.on("chunk", (chunk) => {
      notes.thinking += chunk.choices[0]?.delta.reasoning_content ?? "";
    });
    chatMessage(notes, await stream.finalChatCompletion());
  },
  async "openai openai-chat whole"(notes, { prompt }) {
    const answer = await openai.chat.completions.create(chatRequest(prompt));
    notes.thinking = answer.choices[0].message.reasoning_content ?? "";
    chatMessage(notes, answer);
  },
  async "openai openai-responses stream"(notes, { prompt }) {
    const calls = new Map();
    let number = 0;
    for await (const event of await openai.responses.create({ ...responsesRequest(prompt), stream: true })) {
      if (event.sequence_number !== number++) console.warn("sequence", event.sequence_number);
      if (event.type === "response.output_text.delta") notes.text += event.delta;
      if (event.type === "response.reasoning_summary_text.delta") notes.thinking += event.delta;
      if (event.type === "response.output_item.added" && event.item.type === "function_call")
        calls.set(event.output_index, [event.item.call_id, event.item.name, ""]);
      if (event.type === "response.function_call_arguments.delta") calls.get(event.output_index)[2] += event.delta;
      notes.calls = [...calls.values()];
      if (event.type === "response.completed" || event.type === "response.incomplete") response(notes, event.response);
    }
  },
  async "openai openai-responses helper"(notes, { prompt }) {
    response(notes, await openai.responses.stream(responsesRequest(prompt)).finalResponse());
  },
  async "openai openai-responses whole"(notes, { prompt }) {
    response(notes, await openai.responses.create(responsesRequest(prompt)));
  },
  async "anthropic anthropic stream"(notes, { prompt }) {
    const calls = new Map();
    for await (const event of await anthropic.messages.create({ ...messagesRequest(prompt), stream: true })) {
      if (event.type === "content_block_start" && event.content_block.type === "tool_use")
        calls.set(event.index, [event.content_block.id, event.content_block.name, ""]);
      if (event.delta?.type === "text_delta") notes.text += event.delta.text;
      if (event.delta?.type === "thinking_delta") notes.thinking += event.delta.thinking;
      if (event.delta?.type === "input_json_delta") calls.get(event.index)[2] += event.delta.partial_json;
      notes.calls = [...calls.values()];
      if (event.type === "message_delta") {
        notes.finish = event.delta.stop_reason;
        notes.usage = tokens(event.usage);
      }
    }
  },
  async "anthropic anthropic helper"(notes, { prompt }) {
    message(notes, await anthropic.messages.stream(messagesRequest(prompt)).finalMessage());
  },
  async "anthropic anthropic whole"(notes, { prompt }) {
    message(notes, await anthropic.messages.create(messagesRequest(prompt)));
  },
  async "ollama ollama stream"(notes, { prompt }) {
    for await (const answer of await ollama.chat({ ...ollamaRequest(prompt), stream: true })) chatted(notes, answer);
  },
  async "ollama ollama whole"(notes, { prompt }) {
    chatted(notes, await ollama.chat(ollamaRequest(prompt)));
  },
  async "genai gemini stream"(notes, { prompt }) {
    for await (const chunk of await genai.models.generateContentStream(geminiRequest(prompt))) generated(notes, chunk);
  },
  async "genai gemini whole"(notes, { prompt }) {
    generated(notes, await genai.models.generateContent(geminiRequest(prompt)));
  },
};

async function aiStream(notes, { api, prompt }) {
  const calls = new Map();
  for await (const part of streamText({ ...aiRequest(api, prompt), onError() {} }).fullStream) {
    if (part.type === "text-delta") notes.text += part.text;
    if (part.type === "reasoning-delta") notes.thinking += part.text;
    if (part.type === "tool-input-start") calls.set(part.id, [part.id, part.toolName, ""]);
    if (part.type === "tool-input-delta") calls.get(part.id)[2] += part.delta;
    if (part.type === "finish-step") {
      notes.finish = part.finishReason;
      notes.usage = aiUsage(part.usage);
    }
    if (part.type === "error") throw part.error;
    notes.calls = [...calls.values()];
  }
}

async function aiWhole(notes, { api, prompt }) {
  const answer = await generateText(aiRequest(api, prompt));
  notes.text = answer.text;
  notes.thinking = answer.reasoningText ?? "";
  notes.calls = answer.toolCalls.map((call) => [call.toolCallId, call.toolName, call.input]);
  notes.finish = answer.finishReason;
  notes.usage = aiUsage(answer.usage);
}

// A whole turn: the tool runs, and the model is asked again with its result.
async function aiAgent(notes, { api, prompt, options }) {
  const tools = { book_hotel: tool({ inputSchema: jsonSchema(parameters), execute: ({ city }) => `booked in ${city}` }) };
  const asked = { ...aiRequest(api, prompt), tools, stopWhen: stepCountIs(5), providerOptions: options, onError() {} };
  for await (const part of streamText(asked).fullStream) {
    if (part.type === "text-delta") notes.text += part.text;
    if (part.type === "error") throw part.error;
  }
}

for (const api of Object.keys(models)) {
  readers[`ai ${api} agent`] = aiAgent;
  readers[`ai ${api} stream`] = aiStream;
  readers[`ai ${api} whole`] = aiWhole;
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  const notes = { text: "", thinking: "", calls: [], finish: null, usage: [], error: null };
  said = [];
  try {
    await readers[`${job.client} ${job.api} ${job.mode}`](notes, job);
  } catch (error) {
    notes.error = `${error?.name ?? typeof error}: ${error?.message ?? JSON.stringify(error)}`;
  }
  process.stdout.write(`${JSON.stringify({ ...notes, complaints: said })}\n`);
}
