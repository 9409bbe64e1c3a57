// Drives the chat page in Chromium: `node page.mjs <url> <playwright-core> <chromium> <folder>`.
// Prints one JSON object of what it saw; screenshots go to the folder.
import path from "node:path";
import {createRequire} from "node:module";

const [url, library, executablePath, folder] = process.argv.slice(2);
const {chromium} = createRequire(import.meta.url)(library);
const browser = await chromium.launch({
  executablePath, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({viewport: {width: 1100, height: 760}});
const problems = [];
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
page.on("pageerror", (error) => problems.push(String(error)));
const shot = (name) => page.screenshot({path: path.join(folder, name + ".png")});
const answer = page.locator("#messages .assistant").last();
const done = () => page.locator("#send").waitFor({state: "visible", timeout: 120_000});

const seen = {};
await page.goto(url);
await page.waitForFunction(() => !/connecting|no model/.test(document.querySelector("#model").textContent));
seen.model = await page.locator("#model").textContent();
await shot("welcome");

await page.locator("#settings-button").click();
await page.locator("#temperature").fill("0");
await page.locator("#max-tokens").fill("160");
await shot("settings");
await page.locator("#settings-button").click();

await page.locator("#input").fill("What is the capital of France?");
await page.keyboard.press("Enter");
await answer.locator(".notes").waitFor({timeout: 120_000});
seen.answer = await answer.locator(".text").textContent();
seen.notes = await answer.locator(".notes").textContent();
await shot("answer");

// Stop, by the keyboard.
await page.locator("#max-tokens").evaluate((input) => { input.value = ""; });
await page.locator("#input").fill("Write a very long story about <b>a river</b> & <img src=x onerror=alert(1)>.");
await page.keyboard.press("Enter");
// Lengths of the text as the page paints it, until there is enough of it to stop.
seen.lengths = await page.evaluate(() => new Promise((resolve) => {
  const lengths = [];
  const look = () => {
    lengths.push([...document.querySelectorAll(".assistant .text")].at(-1).textContent.length);
    if (lengths.at(-1) > 200) resolve(lengths); else requestAnimationFrame(look);
  };
  look();
}));
await page.keyboard.press("Escape");
await done();
seen.stopped = (await answer.locator(".text").textContent()).length;
seen.question = await page.locator("#messages .user").last().textContent();
seen.images = await page.locator("#messages img").count();

// An error, and what becomes of the question.
await page.locator("#temperature").evaluate((input) => { input.value = "-1"; });
await page.locator("#input").fill("Is this refused?");
await page.keyboard.press("Enter");
await page.locator(".error").waitFor();
await done();
seen.error = await page.locator(".error").textContent();
seen.returned = await page.locator("#input").inputValue();
await shot("error");

// Markdown, as text only.
seen.markdown = await page.evaluate(() => {
  const box = document.createElement("div");
  showMarkdown(box, "# Title\n\nA **bold** `code` <b>x</b>\n\n1. one\n2. two\n\n```js\nlet a = 1;\n```\nend");
  return box.innerHTML;
});

await page.keyboard.press("Alt+n");
seen.afterNew = await page.locator("#messages li").count();
await page.setViewportSize({width: 390, height: 780});
await page.emulateMedia({colorScheme: "dark"});
await page.locator("#suggestions button").first().click();
await page.locator(".error").waitFor();
seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
await page.locator("#temperature").evaluate((input) => { input.value = "0"; });
await page.locator("#max-tokens").evaluate((input) => { input.value = "60"; });
await page.locator("#input").fill("Give me a list of three colours.");
await page.keyboard.press("Enter");
await page.locator("#stop").waitFor({state: "visible"});
await done();
await shot("mobile-dark");

seen.problems = problems.filter((p) => !p.includes("400 (Bad Request)"));
console.log(JSON.stringify(seen));
await browser.close();
