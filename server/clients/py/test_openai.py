"""The SDK of OpenAI against Chat Completions."""

import unittest
from concurrent.futures import ThreadPoolExecutor

import openai

from serving import ADD, LONG, SEARCH, USAGE, ServerTest, calls, says


def user(content):
    return {"role": "user", "content": content}


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


class OpenAITest(ServerTest):
    def client(self, server, origin=None, **options):
        client = openai.OpenAI(base_url=f"{origin or server.origin}/v1", api_key=server.token, **options)
        self.addCleanup(client.close)
        self.requests = []
        client._client.event_hooks["request"].append(
            lambda request: self.requests.append({"tries": request.headers.get("x-stainless-retry-count")})
        )
        client._client.event_hooks["response"].append(
            lambda response: self.requests[-1].update(status=response.status_code)
        )
        return client

    def test_a_plain_completion_has_its_text_in_korean_and_its_usage(self):
        server = self.serve([{"text": "안녕하세요, 반갑습니다.", "usage": USAGE}])
        raw = self.client(server).chat.completions.with_raw_response.create(model="any", messages=[user("안녕?")])
        answer = raw.parse()
        self.assertEqual(answer.choices[0].message.content, "안녕하세요, 반갑습니다.")
        self.assertEqual((answer.model, answer.choices[0].finish_reason), ("any", "stop"))
        usage = answer.usage
        self.assertEqual((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (5, 2, 7))
        self.assertEqual(usage.prompt_tokens_details.cached_tokens, 3)
        stored = server.stored(raw.headers["madang-session"])
        self.assertEqual(stored, ["user: 안녕?", "model: 안녕하세요, 반갑습니다."])

    def test_a_stream_is_put_together_to_the_same_with_usage_where_it_is_asked_for(self):
        script = [{"text": "찾아볼게요.", **calls(SEARCH)}, {"text": "하나 있습니다.", "usage": USAGE}, says("한 번 더.")]
        server = self.serve(script)
        client = self.client(server)
        options = {"include_usage": True}
        with client.chat.completions.create(
            model="any", messages=[user("찾아줘")], stream=True, stream_options=options
        ) as stream:
            chunks = list(stream)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(text_of(chunks), "찾아볼게요.\n\n하나 있습니다.")
        reasons = [one.choices[0].finish_reason for one in chunks if one.choices and one.choices[0].finish_reason]
        self.assertEqual(reasons, ["stop"])
        self.assertEqual(chunks[-1].usage.total_tokens, 7)
        with client.chat.completions.stream(model="any", messages=[user("또")]) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_completion()
        self.assertIn("content.delta", kinds)
        self.assertEqual(final.choices[0].message.content, "한 번 더.")

    def test_an_error_in_mid_stream_is_raised_with_its_code_behind_what_was_said(self):
        server = self.serve([{"text": "반쯤 왔", "error": "Timeout"}, {"error": "Broken"}])
        client = self.client(server)
        chunks = []
        with self.assertRaises(openai.APIError) as raised:
            with client.chat.completions.create(model="any", messages=[user("hi")], stream=True) as stream:
                for chunk in stream:
                    chunks.append(chunk)
        self.assertEqual(raised.exception.code, "Timeout")
        self.assertEqual(text_of(chunks), "반쯤 왔")
        self.assertEqual(len(self.requests), 1, "what has begun is not tried again")
        with self.assertRaises(openai.InternalServerError) as raised:
            client.with_options(max_retries=0).chat.completions.create(model="any", messages=[user("plain")])
        self.assertEqual((raised.exception.status_code, raised.exception.code), (502, "Broken"))

    def test_a_stream_whose_server_dies_is_no_complete_answer(self):
        server = self.serve([LONG])
        with self.client(server).chat.completions.create(model="any", messages=[user("count")], stream=True) as stream:
            with self.assertRaises(Exception) as raised:
                for chunk in stream:
                    if chunk.choices[0].delta.content:
                        server.kill()
        self.assertNotIsInstance(raised.exception, AssertionError)

    def test_a_request_that_is_tried_again_after_a_cut_joins_its_turn(self):
        server, way = self.serve_behind_way([says("only once", 1_500)])
        client = self.client(server, way.origin)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(client.chat.completions.create, model="any", messages=[user("once")])
            chat = server.begun()
            way.cut()
            self.assertEqual(answer.result().choices[0].message.content, "only once")
        self.assertEqual([one["tries"] for one in self.requests], ["0", "1"])
        self.assertEqual(server.chats(), [chat])
        self.assertEqual(server.stored(chat), ["user: once", "model: only once"])

    def test_a_request_tried_again_after_kill_9_joins_the_turn_of_the_next_server(self):
        server = self.serve([LONG])
        client = self.client(server, max_retries=5)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(client.chat.completions.create, model="any", messages=[user("once")])
            chat = server.begun()
            server.kill()
            server.restart([says("said by the next")])
            self.assertEqual(answer.result().choices[0].message.content, "said by the next")
        self.assertGreater(len(self.requests), 1)
        self.assertEqual(server.chats(), [chat])
        self.assertEqual(server.stored(chat), ["user: once", "model: said by the next"])

    def test_a_model_that_is_too_busy_is_asked_again_after_a_while(self):
        server = self.serve([{"error": "Overloaded"}, says("there you are")])
        client = self.client(server)
        answer = client.chat.completions.create(model="any", messages=[user("hi")])
        self.assertEqual(answer.choices[0].message.content, "there you are")
        self.assertEqual(self.requests, [{"tries": "0", "status": 429}, {"tries": "1", "status": 200}])

    def test_tools_of_the_clients_own_are_refused_with_their_parameter_once(self):
        server = self.serve([says("never")])
        client = self.client(server)
        tool = {"type": "function", "function": {"name": "mine", "parameters": {"type": "object", "properties": {}}}}
        for param, more in [("tools", {"tools": [tool]}), ("n", {"n": 2})]:
            with self.assertRaises(openai.BadRequestError) as raised:
                client.chat.completions.create(model="any", messages=[user("hi")], **more)
            self.assertEqual((raised.exception.code, raised.exception.param), ("unsupported-parameter", param))
        self.assertEqual(len(self.requests), 2)
        self.assertEqual(server.chats(), [])

    def test_a_loop_of_five_messages_is_one_chat(self):
        script = [says("하나"), {"text": "찾는 중", **calls(SEARCH)}, says("둘"), says("셋"), says("넷"), says("다섯")]
        server = self.serve(script)
        client = self.client(server)
        messages = [{"role": "system", "content": "Be brief."}]
        for at, stream in enumerate([False, True, False, True, False]):
            messages.append(user(f"message {at + 1}"))
            answer = client.chat.completions.create(model="any", messages=messages, stream=stream)
            said = text_of(answer) if stream else answer.choices[0].message.content
            messages.append({"role": "assistant", "content": said})
        [chat] = server.chats()
        expected = ["user: message 1", "model: 하나"]
        expected += ["user: message 2", "model: 찾는 중", "tool_call: search_catalog", "model: 둘"]
        expected += ["user: message 3", "model: 셋", "user: message 4", "model: 넷", "user: message 5", "model: 다섯"]
        self.assertEqual(server.stored(chat), expected)

    def test_a_destructive_call_reaches_no_person_unless_the_client_names_one_elsewhere(self):
        server = self.serve([calls(ADD), says("못 했어요"), calls(ADD), says("했어요")])
        client = self.client(server)
        alone = client.chat.completions.create(model="any", messages=[user("add it")])
        self.assertEqual(alone.choices[0].message.content, "못 했어요")
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(
                client.chat.completions.create,
                model="any",
                messages=[user("add it now")],
                extra_headers={"Madang-Ask": "elsewhere"},
            )
            server.decide("approve")
            self.assertEqual(answer.result().choices[0].message.content, "했어요")
        outcomes = [(call["outcome"]["status"], call["outcome"].get("reason")) for call in server.ledger()]
        self.assertEqual(outcomes, [("cancelled", "unreachable"), ("ok", None)])

    def test_the_models_are_listed_and_a_wrong_token_says_so(self):
        server = self.serve([])
        client = self.client(server)
        [model] = client.models.list()
        self.assertEqual(client.models.retrieve(model.id), model)
        with self.assertRaises(openai.AuthenticationError):
            client.with_options(api_key="mdg_" + "x" * 43).models.list()


if __name__ == "__main__":
    unittest.main()
