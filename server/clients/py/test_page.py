"""The snippets in Python and the files for MCP clients of docs/serve.md do what the page says, with the versions that it
names."""

import asyncio
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from serving import BINARY, PATIENCE, ServerTest, says

PAGE = (Path(__file__).parents[3] / "docs/serve.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def snippet(module):
    """Gives the one block of the page that imports from a module."""
    [found] = [block for block in blocks("python") if re.search(rf"^from {module} import", block, re.MULTILINE)]
    return found


class SnippetTest(ServerTest):
    def prints_the_answer(self, module):
        server = self.serve([says("Good day to you.")])
        code = f"MADANG, TOKEN = {server.origin!r}, {server.token!r}\n{snippet(module)}"
        # No key of the person who runs the suite goes anywhere.
        env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        ran = subprocess.run([sys.executable, "-"], input=code, env=env, capture_output=True, text=True, timeout=40)
        self.assertEqual((ran.stdout, ran.returncode), ("Good day to you.\n", 0), ran.stderr)
        [chat] = server.chats()
        self.assertEqual(server.stored(chat), ["user: Good day!", "model: Good day to you."])

    def test_the_snippet_with_openai_prints_the_answer(self):
        self.prints_the_answer("openai")

    def test_the_snippet_with_langchain_prints_the_answer(self):
        self.prints_the_answer("langchain_openai")

    def test_the_snippet_with_pydantic_ai_prints_the_answer(self):
        self.prints_the_answer("pydantic_ai")

    def test_the_snippet_with_the_agents_sdk_prints_the_answer(self):
        self.prints_the_answer("agents")

    def test_the_page_names_the_versions_of_the_packages_that_it_was_tried_with(self):
        rows = re.findall(r"^\| (\S+) \(PyPI\)[^|]* \| (\S+) \|", PAGE, re.MULTILINE)
        self.assertEqual([name for name, _ in rows], ["openai", "langchain-openai", "pydantic-ai-slim", "openai-agents", "mcp"])
        for name, version in rows:
            self.assertEqual(importlib.metadata.version(name), version, name)


class McpFilesTest(ServerTest):
    """The files of Claude Code, Claude Desktop, Cursor and VS Code, in this order."""

    def servers(self):
        """Gives what each file says about Madang."""
        files = [json.loads(block) for block in blocks("json")]
        self.assertEqual([next(name for name in file if "ervers" in name) for file in files], ["mcpServers"] * 3 + ["servers"])
        return [(file.get("mcpServers") or file["servers"])["madang"] for file in files]

    async def tools(self, transport):
        async with Client(transport, read_timeout_seconds=PATIENCE) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    async def tools_over_http(self, server, said):
        # The address and the token of this server, in place of those of the page.
        self.assertEqual(said["url"], "http://127.0.0.1:8137/mcp")
        [(name, value)] = said["headers"].items()
        headers = {name: re.sub(r"\$\{(env:MADANG_TOKEN|MADANG_TOKEN|input:token)\}", server.token, value)}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            return await self.tools(streamable_http_client(f"{server.origin}/mcp", http_client=http))

    def test_the_files_with_an_address_reach_the_tools(self):
        server = self.serve([], scope="chat,decide,tools")
        with_address = [said for said in self.servers() if "url" in said]
        self.assertEqual(len(with_address), 3)
        for said in with_address:
            self.assertIn("add_habit", asyncio.run(self.tools_over_http(server, said)))

    def test_the_file_with_a_command_reaches_the_tools(self):
        [said] = [said for said in self.servers() if "command" in said]
        self.assertEqual(said["command"], "madang")
        with tempfile.TemporaryDirectory(prefix="madang-clients-") as home:
            env = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}
            server = StdioServerParameters(command=BINARY, args=said["args"], env=env, cwd=home)
            self.assertIn("add_habit", asyncio.run(self.tools(server)))


if __name__ == "__main__":
    unittest.main()
