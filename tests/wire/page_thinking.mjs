// Asks one question in Chromium: `node page_thinking.mjs <url> <playwright-core> <chromium>`.
// Prints what the page shows of the model's thinking, folded and unfolded, and its answer.
import {createRequire} from "node:module";

const [url, library, executablePath] = process.argv.slice(2);
const {chromium} = createRequire(import.meta.url)(library);
const browser = await chromium.launch({executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"]});
const page = await browser.newPage();
const item = page.locator("#messages .assistant");
await page.goto(url);
await page.locator("#input").fill("Where?");
await page.keyboard.press("Enter");
await item.locator(".notes").waitFor({timeout: 60_000});
const thought = item.locator("details div");
const folded = !await thought.isVisible();
await item.locator("summary").click();
const seen = {folded, thought: await thought.innerText(), answer: await item.locator(".text").innerText()};
await browser.close();
console.log(JSON.stringify(seen));
