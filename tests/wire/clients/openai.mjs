// The official OpenAI client for Node: `node openai.mjs <server> <session>`, the session as JSON.
import {tell, use} from "./packages.mjs";

const [server, text] = process.argv.slice(2);
const session = JSON.parse(text);
const {OpenAI} = use("openai");
const client = new OpenAI({baseURL: server + "/v1", apiKey: "any", maxRetries: 0});
const user = (content) => [{role: "user", content}];
const seen = {};

const plain = await client.chat.completions.create({model: "any", messages: user(session.chat)});
seen.chat = plain.choices[0].message.content;

seen.pieces = [];
const stream = client.chat.completions.stream({model: "any", messages: user(session.stream)});
stream.on("content", (delta) => seen.pieces.push(delta));
seen.stream = await stream.finalContent();

seen.asked = [];
const weather = {
  type: "function",
  function: {
    name: "weather", description: "tells the weather", parameters: session.weather, parse: JSON.parse,
    function: ({city}) => { seen.asked.push(city); return session.degrees[city]; },
  },
};
for (const streamed of [false, true]) {
  const runner = client.chat.completions.runTools({
    model: "any", messages: user(session.tools), tools: [weather], stream: streamed});
  seen[streamed ? "tools_streamed" : "tools"] = await runner.finalContent();
}

const schema = {type: "json_schema", json_schema: {name: "facts", strict: true, schema: session.schema}};
const facts = await client.chat.completions.parse({
  model: "any", messages: user(session.facts), response_format: schema});
seen.facts = JSON.parse(facts.choices[0].message.content);

const song = await client.chat.completions.create({model: "any", messages: user(session.song), stream: true});
for await (const chunk of song) if (chunk.choices[0]?.delta.content) break;
song.controller.abort();

const response = await client.responses.create({model: "any", input: session.chat});
seen.response = response.output_text;
const events = [];
for await (const event of await client.responses.create({model: "any", input: session.stream, stream: true})) {
  events.push(event.type);
  if (event.type === "response.completed") seen.response_stream = event.response.output[0].content[0].text;
}
seen.events = [...new Set(events)];

try {
  await client.chat.completions.create({model: "any", messages: user("x"), temperature: -1});
} catch (error) {
  seen.error = {name: error.constructor.name, status: error.status, param: error.param};
}
seen.models = (await client.models.list()).data.map((model) => model.id);
tell(seen);
