// Version 7 of the AI SDK.

import * as ai from "ai";

import { tests } from "./ai_sdk.mjs";

tests(ai);
