// Measures how long a page takes to appear, and how long its search takes to respond. Arguments: the page, Chromium, and how often
// to measure. Prints JSON: `paint_ms` of each opening, `filter_ms` of each text typed into the search of all figures (the median of all
// openings), and how many points (`marks`) and rows the page has.
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const [path, chromium, times] = process.argv.slice(2);
const TEXTS = ['l', 'lo', 'lock', 'lock workers=4', 'no such point', ''];
const median = values => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ['--no-sandbox', '--headless=new', '--disable-gpu', '--disable-dev-shm-usage'],
});
const paints = [], filters = TEXTS.map(() => []);
let counts = {};
try {
  for (let time = 0; time < Number(times); time += 1) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1600, height: 900 });
    await page.goto(pathToFileURL(path).href);
    const paint = 'first-contentful-paint';
    await page.waitForFunction(name => performance.getEntriesByName(name).length > 0, {}, paint);
    paints.push(await page.evaluate(name => performance.getEntriesByName(name)[0].startTime, paint));
    for (const [at, text] of TEXTS.entries()) {
      // Until the frame after the change has been laid out and painted.
      filters[at].push(await page.evaluate(async text => {
        const frame = () => new Promise(done => { requestAnimationFrame(() => setTimeout(done)); });
        await frame();
        const input = document.querySelector('#figures .search');
        const began = performance.now();
        input.value = text;
        input.dispatchEvent(new Event('input'));
        await frame();
        return performance.now() - began;
      }, text));
    }
    counts = await page.evaluate(() => ({
      marks: document.querySelectorAll('[data-v]').length,
      rows: document.querySelectorAll('#figures > .scroll tbody tr').length,
    }));
    await page.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify({ paint_ms: paints, filter_ms: filters.map(median), ...counts }));
