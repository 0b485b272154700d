// The SDK of OpenAI against Chat Completions.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";

import { ADD, LONG, SEARCH, USAGE, calls, says, serve, serveBehindWay, until } from "./server.mjs";

const user = (content) => ({ role: "user", content });

/** A client, and the requests that it sends. */
function clientOf(server, origin = server.origin, options = {}) {
  const requests = [];
  const client = new OpenAI({
    baseURL: `${origin}/v1`,
    apiKey: server.token,
    fetch: async (url, init) => {
      const request = { tries: new Headers(init.headers).get("x-stainless-retry-count"), status: null };
      requests.push(request);
      const response = await fetch(url, init);
      request.status = response.status;
      return response;
    },
    ...options,
  });
  return { client, requests };
}

/** Reads a stream to its end. */
async function read(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");

test("a plain completion has its text in Korean, and its usage", async (t) => {
  const server = await serve(t, [{ text: "안녕하세요, 반갑습니다.", usage: USAGE }]);
  const { client } = clientOf(server);
  const { data, response } = await client.chat.completions.create({ model: "any", messages: [user("안녕?")] }).withResponse();
  assert.equal(data.object, "chat.completion");
  assert.equal(data.model, "any");
  assert.deepEqual(data.choices.map(({ message, finish_reason }) => [message.role, message.content, finish_reason]), [["assistant", "안녕하세요, 반갑습니다.", "stop"]]);
  assert.deepEqual(data.usage, { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, prompt_tokens_details: { cached_tokens: 3 } });
  assert.deepEqual(await server.stored(response.headers.get("madang-session")), ["user: 안녕?", "model: 안녕하세요, 반갑습니다."]);
});

test("a stream is put together to the same, with usage where it is asked for", async (t) => {
  const server = await serve(t, [{ text: "수면 습관을 찾아볼게요.", ...calls(SEARCH) }, { text: "하나 있습니다.", usage: USAGE }, says("한 번 더.")]);
  const { client } = clientOf(server);
  const chunks = await read(await client.chat.completions.create({ model: "any", messages: [user("찾아줘")], stream: true, stream_options: { include_usage: true } }));
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.equal(textOf(chunks), "수면 습관을 찾아볼게요.\n\n하나 있습니다.");
  assert.deepEqual(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? []), ["stop"]);
  assert.equal(chunks.at(-1).usage.total_tokens, 7);
  const helper = client.chat.completions.stream({ model: "any", messages: [user("또")] });
  const heard = [];
  helper.on("content", (delta) => heard.push(delta));
  assert.equal(await helper.finalContent(), "한 번 더.");
  assert.equal(heard.join(""), "한 번 더.");
  assert.equal((await helper.finalChatCompletion()).choices[0].finish_reason, "stop");
});

test("an error in mid-stream is thrown with its code, behind what was said", async (t) => {
  const server = await serve(t, [{ text: "반쯤 왔", error: "Timeout" }, { text: "half", error: "Timeout" }, { error: "Broken" }]);
  const { client, requests } = clientOf(server);
  const stream = () => client.chat.completions.create({ model: "any", messages: [user("hi")], stream: true });
  const chunks = [];
  await assert.rejects(async () => {
    for await (const chunk of await stream()) chunks.push(chunk);
  }, (error) => error instanceof OpenAI.APIError && error.code === "Timeout" && error.message.length > 0);
  assert.equal(textOf(chunks), "반쯤 왔");
  await assert.rejects(client.chat.completions.stream({ model: "any", messages: [user("again")] }).finalContent(), OpenAI.APIError);
  assert.equal(requests.length, 2, "what has begun is not tried again");
  const plain = client.chat.completions.create({ model: "any", messages: [user("plain")] });
  await assert.rejects(plain, (error) => error.status === 502 && error.code === "Broken");
  assert.equal(requests.length, 3, "the same request would find the same end");
});

test("a stream whose server dies is no complete answer", async (t) => {
  const server = await serve(t, [LONG]);
  const { client } = clientOf(server);
  const stream = await client.chat.completions.create({ model: "any", messages: [user("count")], stream: true });
  await assert.rejects(async () => {
    for await (const chunk of stream) if (chunk.choices[0].delta.content) await server.kill();
  });
});

test("a request that is tried again after a cut joins its turn", async (t) => {
  const { server, way } = await serveBehindWay(t, [says("only once", 1_500)]);
  const { client, requests } = clientOf(server, way.origin);
  const answer = client.chat.completions.create({ model: "any", messages: [user("once")] });
  const [chat] = await until("the turn has begun", async () => {
    const chats = await server.chats();
    return chats.length > 0 && (await server.stored(chats[0])).length > 0 && chats;
  });
  way.cut();
  assert.equal((await answer).choices[0].message.content, "only once");
  assert.deepEqual(requests.map((request) => request.tries), ["0", "1"]);
  assert.deepEqual(await server.chats(), [chat]);
  assert.deepEqual(await server.stored(chat), ["user: once", "model: only once"]);
});

test("a request that is tried again after kill -9 joins the turn of the next server", async (t) => {
  const server = await serve(t, [LONG]);
  const { client, requests } = clientOf(server, server.origin, { maxRetries: 5 });
  const answer = client.chat.completions.create({ model: "any", messages: [user("once")] });
  const [chat] = await until("the turn has begun", async () => {
    const chats = await server.chats();
    return chats.length > 0 && (await server.stored(chats[0])).length > 0 && chats;
  });
  await server.kill();
  await server.restart([says("said by the next")]);
  assert.equal((await answer).choices[0].message.content, "said by the next");
  assert.ok(requests.length > 1);
  assert.deepEqual(await server.chats(), [chat]);
  assert.deepEqual(await server.stored(chat), ["user: once", "model: said by the next"]);
});

test("a model that is too busy is asked again after a while", async (t) => {
  const server = await serve(t, [{ error: "Overloaded" }, says("there you are")]);
  const { client, requests } = clientOf(server);
  const answer = await client.chat.completions.create({ model: "any", messages: [user("hi")] });
  assert.equal(answer.choices[0].message.content, "there you are");
  assert.deepEqual(requests, [{ tries: "0", status: 429 }, { tries: "1", status: 200 }]);
});

test("tools of the client's own are refused with their parameter, once", async (t) => {
  const server = await serve(t, [says("never")]);
  const { client, requests } = clientOf(server);
  const tools = [{ type: "function", function: { name: "mine", parameters: { type: "object", properties: {} } } }];
  const refusal = (param) => (error) => error instanceof OpenAI.BadRequestError && error.code === "unsupported-parameter" && error.param === param;
  await assert.rejects(client.chat.completions.create({ model: "any", messages: [user("hi")], tools }), refusal("tools"));
  await assert.rejects(client.chat.completions.create({ model: "any", messages: [user("hi")], n: 2 }), refusal("n"));
  assert.equal(requests.length, 2);
  assert.deepEqual(await server.chats(), []);
});

test("a loop of five messages is one chat", async (t) => {
  const server = await serve(t, [says("하나"), { ...calls(SEARCH), text: "찾는 중" }, says("둘"), says("셋"), says("넷"), says("다섯")]);
  const { client } = clientOf(server);
  const messages = [{ role: "system", content: "Be brief." }];
  for (const [at, stream] of [false, true, false, true, false].entries()) {
    messages.push(user(`message ${at + 1}`));
    const body = { model: "any", messages, stream };
    const said = stream ? textOf(await read(await client.chat.completions.create(body))) : (await client.chat.completions.create(body)).choices[0].message.content;
    messages.push({ role: "assistant", content: said });
  }
  const chats = await server.chats();
  assert.equal(chats.length, 1);
  assert.deepEqual(await server.stored(chats[0]), [
    "user: message 1", "model: 하나",
    "user: message 2", "model: 찾는 중", "tool_call: search_catalog", "model: 둘",
    "user: message 3", "model: 셋", "user: message 4", "model: 넷", "user: message 5", "model: 다섯",
  ]);
});

test("a destructive call reaches no person, unless the client names a person elsewhere", async (t) => {
  const server = await serve(t, [calls(ADD), says("못 했어요"), calls(ADD), says("했어요")]);
  const { client } = clientOf(server);
  const alone = await client.chat.completions.create({ model: "any", messages: [user("add it")] });
  assert.equal(alone.choices[0].message.content, "못 했어요");
  const stream = client.chat.completions.create({ model: "any", messages: [user("add it now")], stream: true }, { headers: { "Madang-Ask": "elsewhere" } });
  const [chunks] = await Promise.all([stream.then(read), server.decide("approve")]);
  assert.equal(textOf(chunks), "했어요");
  assert.deepEqual((await server.ledger()).map((call) => [call.outcome.status, call.outcome.reason ?? null]), [["cancelled", "unreachable"], ["ok", null]]);
});

test("the models are listed, and a wrong token says so", async (t) => {
  const server = await serve(t, []);
  const { client } = clientOf(server);
  const models = await read(await client.models.list());
  assert.deepEqual(models.map((model) => model.object), ["model"]);
  assert.equal((await client.models.retrieve(models[0].id)).id, models[0].id);
  const { client: stranger, requests } = clientOf({ ...server, token: `mdg_${"x".repeat(43)}` }, server.origin);
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
  assert.equal(requests.length, 1);
});
