// Asks one question over three wires: `node capital.mjs <server> <question>`.
import {tell, use} from "./packages.mjs";

const [server, question] = process.argv.slice(2);
const {OpenAI} = use("openai");
const {Anthropic} = use("@anthropic-ai/sdk");
const openai = new OpenAI({baseURL: server + "/v1", apiKey: "any", maxRetries: 0});
const anthropic = new Anthropic({baseURL: server, apiKey: "any", maxRetries: 0});
const messages = [{role: "user", content: question}];

const chat = await openai.chat.completions.create({model: "any", messages, temperature: 0, max_tokens: 40});
const response = await openai.responses.create({model: "any", input: question, temperature: 0, max_output_tokens: 40});
const message = await anthropic.messages.stream({model: "any", messages, temperature: 0, max_tokens: 40}).finalText();
tell({chat: chat.choices[0].message.content, response: response.output_text, message});
