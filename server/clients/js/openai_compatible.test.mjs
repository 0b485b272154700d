// `streamText` of the AI SDK with its provider for servers that speak as OpenAI's do.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

import { SEARCH, USAGE, calls, says, serve } from "./server.mjs";

const modelOf = (server) => createOpenAICompatible({ name: "madang", baseURL: `${server.origin}/v1`, apiKey: server.token, includeUsage: true })("any");

test("a stream has its reasoning, its text, its usage and its end", async (t) => {
  const server = await serve(t, [{ thinking: "날씨를 묻는군", ...says("찾아볼게요.", 1_000), ...calls(SEARCH) }, { text: "맑습니다.", usage: USAGE }]);
  const result = streamText({ model: modelOf(server), prompt: "오늘 어때?" });
  const kinds = new Set();
  for await (const part of result.fullStream) kinds.add(part.type);
  assert.ok(kinds.has("reasoning-delta") && kinds.has("text-delta") && !kinds.has("error"), [...kinds].join());
  assert.equal(await result.text, "찾아볼게요.\n\n맑습니다.");
  assert.equal(await result.reasoningText, "날씨를 묻는군");
  assert.equal(await result.finishReason, "stop");
  const { inputTokens, outputTokens, totalTokens } = await result.usage;
  assert.deepEqual({ inputTokens, outputTokens, totalTokens }, { inputTokens: 5, outputTokens: 2, totalTokens: 7 });
});

test("a plain answer and the next one are one chat", async (t) => {
  const server = await serve(t, [says("하나"), says("둘")]);
  const model = modelOf(server);
  const messages = [{ role: "user", content: "first" }];
  const first = await generateText({ model, messages });
  messages.push({ role: "assistant", content: first.text }, { role: "user", content: "second" });
  assert.equal((await generateText({ model, messages })).text, "둘");
  const chats = await server.chats();
  assert.equal(chats.length, 1);
  assert.deepEqual(await server.stored(chats[0]), ["user: first", "model: 하나", "user: second", "model: 둘"]);
});

test("an error in mid-stream is an error part, and no complete answer", async (t) => {
  const server = await serve(t, [{ text: "half", error: "Timeout" }]);
  const result = streamText({ model: modelOf(server), prompt: "hi", onError: () => {} });
  const parts = [];
  await assert.rejects(async () => {
    for await (const part of result.fullStream) parts.push(part);
  });
  assert.ok(parts.some((part) => part.type === "text-delta"));
  assert.equal(parts.find((part) => part.type === "error")?.error.code, "Timeout");
  assert.equal((await server.chats()).length, 1, "what has begun is not tried again");
});
