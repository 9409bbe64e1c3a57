// The packages of HEARTH_CLIENTS, and what a session's script tells the test that runs it.
import {createRequire} from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.HEARTH_CLIENTS, "package.json"));

export const use = (name) => require(name);

/** Prints what was seen as one JSON object. */
export const tell = (seen) => process.stdout.write(JSON.stringify(seen) + "\n");
