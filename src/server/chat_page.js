// The chat page: keeps the conversation, streams answers from /v1/chat/completions, shows them.
// Text of models only ever becomes text nodes; nothing is parsed as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const conversation = []; // {role, content}
let running = null; // the AbortController of the answer that is being written

// --- Markdown, the little that chat answers use: fences, headings, lists, bold, italics, code.

function element(name, text) {
  const out = document.createElement(name);
  if (text !== undefined) out.textContent = text;
  return out;
}

const spans = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)/g;

function addSpans(parent, text) {
  let at = 0;
  for (const match of text.matchAll(spans)) {
    parent.append(text.slice(at, match.index));
    const [all, code, bold] = match;
    if (code) parent.append(element("code", all.slice(1, -1)));
    else if (bold) parent.append(element("strong", all.slice(2, -2)));
    else parent.append(element("em", all.slice(1, -1)));
    at = match.index + all.length;
  }
  parent.append(text.slice(at));
  return parent;
}

function addText(parent, text) {
  let list = null, paragraph = null;
  for (const line of text.split("\n")) {
    const heading = line.match(/^#{1,6}\s+(.*)$/);
    const item = line.match(/^\s*(?:([-*+])|(\d+)[.)])\s+(.*)$/);
    if (heading) {
      parent.append(addSpans(element("h3"), heading[1]));
      list = paragraph = null;
    } else if (item) {
      const kind = item[1] ? "UL" : "OL";
      if (!list || list.tagName !== kind) {
        list = element(kind);
        if (item[2]) list.start = Number(item[2]);
        parent.append(list);
      }
      list.append(addSpans(element("li"), item[3]));
      paragraph = null;
    } else if (!line.trim()) {
      paragraph = null;
    } else if (paragraph) {
      addSpans(paragraph, "\n" + line);
    } else {
      paragraph = addSpans(element("p"), line);
      parent.append(paragraph);
      list = null;
    }
  }
}

function showMarkdown(parent, text) {
  parent.replaceChildren();
  text.split(/^```[^\n]*\n?/m).forEach((part, i) => {
    if (i % 2 === 0) return addText(parent, part);
    const block = element("pre");
    block.append(element("code", part.replace(/\n$/, "")));
    parent.append(block);
  });
}

// --- What the server says

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      if (!frame.startsWith("data: ")) continue; // a comment: the server is still there
      if (frame === "data: [DONE]") return;
      yield JSON.parse(frame.slice(6));
    }
  }
}

async function errorOf(response) {
  const body = await response.json().catch(() => null);
  const words = body?.error?.message ?? `${response.status} ${response.statusText}`;
  return response.status === 401 ? words + " (Settings → API key)" : words;
}

function headers() {
  const key = $("key").value;
  return {"content-type": "application/json", ...(key && {authorization: `Bearer ${key}`})};
}

function requestBody() {
  const system = $("system").value.trim();
  const body = {
    messages: [...(system ? [{role: "system", content: system}] : []), ...conversation],
    stream: true,
    stream_options: {include_usage: true},
  };
  if ($("temperature").value !== "") body.temperature = Number($("temperature").value);
  if ($("max-tokens").value !== "") body.max_tokens = Number($("max-tokens").value);
  return JSON.stringify(body);
}

// --- The page

function follow(change) {
  const main = $("scroll");
  const atEnd = main.scrollHeight - main.scrollTop - main.clientHeight < 60;
  change();
  if (atEnd) main.scrollTop = main.scrollHeight;
}

function addMessage(role, text) {
  $("welcome").hidden = true;
  const item = element("li");
  item.className = role;
  if (role === "user") item.textContent = text;
  const body = element("div");
  body.className = "text";
  if (role === "assistant") item.append(body);
  $("messages").append(item);
  $("scroll").scrollTop = $("scroll").scrollHeight;
  return item;
}

function addNotes(item, text, speed) {
  const notes = element("div");
  notes.className = "notes";
  const copy = element("button", "Copy");
  copy.type = "button";
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  notes.append(copy);
  if (speed) notes.append(element("span", speed));
  item.append(notes);
}

/// Adds to what the model thinks before it answers: folded, above the answer.
function showThought(item, text) {
  let thought = item.querySelector("details");
  if (!thought) {
    thought = element("details");
    thought.append(element("summary", "Thinking"), element("div"));
    item.prepend(thought);
  }
  thought.lastChild.textContent += text;
}

function addError(item, words) {
  const error = element("div", words);
  error.className = "error";
  error.setAttribute("role", "alert");
  item.append(error);
}

function setRunning(controller) {
  running = controller;
  $("stop").hidden = !controller;
  $("send").hidden = Boolean(controller);
  if (!controller) $("input").focus();
}

/// Reads one answer into `item`. Returns its text and a line on its speed.
async function readAnswer(item, controller) {
  const body = item.querySelector(".text");
  const began = performance.now();
  let text = "", first = 0, usage = null, shown = false;
  const show = () => { shown = false; follow(() => showMarkdown(body, text)); };
  try {
    const response = await fetch("/v1/chat/completions", {
      method: "POST", headers: headers(), body: requestBody(), signal: controller.signal,
    });
    if (!response.ok) throw new Error(await errorOf(response));
    for await (const event of events(response)) {
      if (event.error) throw new Error(event.error.message);
      usage = event.usage ?? usage;
      const delta = event.choices[0]?.delta;
      if (delta?.reasoning) {
        first ||= performance.now();
        follow(() => showThought(item, delta.reasoning));
      }
      const piece = delta?.content;
      if (!piece) continue;
      first ||= performance.now();
      text += piece;
      if (!shown) { shown = true; requestAnimationFrame(show); }
    }
    if (!usage) throw new Error("the connection broke before the answer was complete");
  } catch (error) {
    if (error.name !== "AbortError") addError(item, error.message);
  }
  show();
  return {text, speed: speedOf(usage, first, began)};
}

function speedOf(usage, first, began) {
  if (!usage || !first) return "";
  const seconds = (performance.now() - first) / 1000;
  const tokens = usage.completion_tokens;
  const rate = tokens > 1 && seconds > 0 ? `${((tokens - 1) / seconds).toFixed(1)} tokens/s` : "";
  const wait = `first after ${((first - began) / 1000).toFixed(2)} s`;
  return [`${tokens} tokens`, rate, wait].filter(Boolean).join(" · ");
}

async function ask(question) {
  if (running || !question.trim()) return;
  const controller = new AbortController();
  setRunning(controller);
  conversation.push({role: "user", content: question});
  addMessage("user", question);
  const item = addMessage("assistant");
  item.classList.add("waiting");
  const {text, speed} = await readAnswer(item, controller);
  item.classList.remove("waiting");
  if (!item.isConnected) return; // a new chat was begun meanwhile
  if (text) {
    conversation.push({role: "assistant", content: text});
    follow(() => addNotes(item, text, speed));
  } else {
    conversation.pop(); // nothing was answered: the question may be asked again
    $("input").value ||= question;
  }
  setRunning(null);
}

function newChat() {
  running?.abort();
  conversation.length = 0;
  $("messages").replaceChildren();
  $("welcome").hidden = false;
  setRunning(null);
}

function fitInput() {
  const input = $("input");
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + 2}px`;
}

async function showModel() {
  try {
    const response = await fetch("/v1/models", {headers: headers()});
    if (!response.ok) throw new Error(await errorOf(response));
    const model = (await response.json()).data[0].id;
    $("model").textContent = model;
    $("status").textContent = "";
    document.title = `${model} · hearth`;
  } catch (error) {
    $("model").textContent = "no model";
    $("status").textContent = error.message;
  }
}

function remember(id, store) {
  $(id).value = store.getItem(`hearth.${id}`) ?? "";
  $(id).addEventListener("change", () => store.setItem(`hearth.${id}`, $(id).value));
}

for (const id of ["system", "temperature", "max-tokens"]) remember(id, localStorage);
remember("key", sessionStorage);
$("key").addEventListener("change", showModel);
$("settings").addEventListener("submit", (event) => event.preventDefault());
$("settings-button").addEventListener("click", () => {
  const open = $("settings").hidden;
  $("settings").hidden = !open;
  $("settings-button").setAttribute("aria-expanded", String(open));
});
$("new").addEventListener("click", newChat);
$("stop").addEventListener("click", () => running?.abort());
$("suggestions").addEventListener("click", (event) => {
  if (event.target.tagName === "BUTTON") ask(event.target.textContent);
});
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return;
  const question = $("input").value;
  $("input").value = "";
  fitInput();
  ask(question);
});
$("input").addEventListener("input", fitInput);
$("input").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("ask").requestSubmit();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
  if (event.altKey && event.key.toLowerCase() === "n") newChat();
});
showModel();
