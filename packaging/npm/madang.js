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

const found = findProgram();

// A signal does not say whether it was sent to this process alone or to its whole group, as a terminal sends it. The program is in the
// group, too, and a second signal would end it at once. So there is a witness in the group: it repeats what it is told, unless a signal
// has ended it.
let witness;
let unclear = [];
const sentToAll = new Map();

function placeWitness() {
  witness = spawn("cat", { stdio: ["pipe", "pipe", "ignore"] });
  witness.on("error", () => {}); // "close" follows
  witness.stdin.on("error", () => {}); // it has ended, and "close" follows
  witness.stdout.on("data", () => {
    program.kill(unclear.shift());
    askWitness();
  });
  witness.on("close", (_, signal) => {
    // Without a witness, every signal is passed on.
    if (signal === null) {
      witness = null;
      for (const sent of unclear.splice(0)) program.kill(sent);
      return;
    }
    unclear = unclear.filter((sent) => sent !== signal);
    placeWitness();
    // The same signal can still come: its end was noticed first, or the signal was repeated while there was no witness.
    sentToAll.set(signal, performance.now() + 200);
    askWitness();
  });
}

function askWitness() {
  if (unclear.length > 0) witness.stdin.write("?");
}

function onSignal(signal) {
  if (witness === null) program.kill(signal);
  else if (!(performance.now() < sentToAll.get(signal)) && unclear.push(signal) === 1) askWitness();
}

// On Windows, signals are the keys of the console, which all its programs receive.
const isWindows = process.platform === "win32";
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, isWindows ? () => {} : onSignal);
if (!isWindows) placeWitness();

const program = spawn(found, process.argv.slice(2), { stdio: "inherit" });
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
