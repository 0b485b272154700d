#!/usr/bin/env node
// Starts the program of the package for this platform, which npm has installed beside this one.
"use strict";

const { spawn } = require("node:child_process");

const name = `@madang/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "madang.exe" : "madang";

function findProgram() {
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    console.error(
      `madang: the package ${name} is missing. Install madang again without --omit=optional; if there is no such package, ` +
        "madang has no program for this platform, and `cargo install madang-cli` builds one.",
    );
    return process.exit(1);
  }
}

const program = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });

// A terminal sends these to the program, too. A second signal would end it at once, so they are not passed on there.
const fromTerminal = process.platform === "win32" || process.stdin.isTTY ? ["SIGINT", "SIGQUIT", "SIGHUP"] : [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => fromTerminal.includes(signal) || program.kill(signal));
}

program.on("error", (error) => {
  console.error(`madang: failed to start ${program.spawnfile}: ${error.message}`);
  process.exit(1);
});
program.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Whoever started this process learns what ended the program.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
