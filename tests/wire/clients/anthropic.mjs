// The official Anthropic client for Node: `node anthropic.mjs <server> <session>`, the session as JSON.
import {tell, use} from "./packages.mjs";

const [server, text] = process.argv.slice(2);
const session = JSON.parse(text);
const {Anthropic} = use("@anthropic-ai/sdk");
const client = new Anthropic({baseURL: server, apiKey: "any", maxRetries: 0});
const user = (content) => [{role: "user", content}];
const common = {model: "any", max_tokens: 500};
const seen = {};

const plain = await client.messages.create({...common, messages: user(session.chat)});
seen.chat = plain.content.map((block) => block.text).join("");
seen.stop_reason = plain.stop_reason;

seen.pieces = [];
const stream = client.messages.stream({...common, messages: user(session.stream)});
stream.on("text", (piece) => seen.pieces.push(piece));
seen.stream = await stream.finalText();

seen.asked = [];
const weather = {name: "weather", description: "tells the weather", input_schema: session.weather};
for (const streamed of [false, true]) {
  const messages = user(session.tools);
  let answer;
  do {
    const request = {...common, messages, tools: [weather]};
    answer = streamed ? await client.messages.stream(request).finalMessage() : await client.messages.create(request);
    messages.push({role: "assistant", content: answer.content});
    const results = answer.content.filter((block) => block.type === "tool_use").map((call) => {
      seen.asked.push(call.input.city);
      return {type: "tool_result", tool_use_id: call.id, content: session.degrees[call.input.city]};
    });
    messages.push({role: "user", content: results});
  } while (answer.stop_reason === "tool_use");
  seen[streamed ? "tools_streamed" : "tools"] = answer.content.map((block) => block.text).join("");
}

seen.counted = (await client.messages.countTokens({model: "any", messages: user(session.chat)})).input_tokens;
seen.input_tokens = plain.usage.input_tokens;

const song = client.messages.stream({model: "any", max_tokens: 9000, messages: user(session.song)});
await new Promise((resolve) => song.once("text", resolve));
song.abort();
await song.done().catch(() => {});

try {
  await client.messages.create({...common, messages: user("x"), temperature: -1});
} catch (error) {
  seen.error = {name: error.constructor.name, status: error.status, type: error.error?.error?.type};
}
tell(seen);
