// Version 6 of the AI SDK.

import * as ai from "ai-6";

import { tests } from "./ai_sdk.mjs";

tests(ai);
