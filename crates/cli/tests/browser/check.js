// Opens reports in Chromium as their readers do, and checks what no test of text can: that nothing is requested, that
// nothing is an error, that axe-core finds no violation, that charts have their points, and that the keyboard reaches
// everything. Arguments: a JSON array of {page, document} paths. Prints one line per complaint.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const reports = JSON.parse(process.argv[2]);
const complaints = [];
const browser = await puppeteer.launch({
  executablePath: process.argv[3],
  args: ['--no-sandbox', '--headless=new', '--disable-gpu', '--disable-dev-shm-usage'],
});

async function open(path, { width, dark, scripts }) {
  const page = await browser.newPage();
  const about = `${path} at ${width}${dark ? ' dark' : ' light'}${scripts ? '' : ' without scripts'}`;
  const complain = text => complaints.push(`${about}: ${text}`);
  page.on('console', message => complain(`console: ${message.text()}`));
  page.on('pageerror', error => complain(`error: ${error.message}`));
  page.on('request', request => {
    if (request.url() !== pathToFileURL(path).href) complain(`request: ${request.url()}`);
  });
  await page.setJavaScriptEnabled(scripts);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
  await page.goto(pathToFileURL(path).href);
  return { page, complain };
}

async function checkAxe(page, complain) {
  // The page's policy keeps scripts out of it, but not those of the debugger.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const found = await window.axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 150)).join(' | ')}`);
  });
  violations.forEach(violation => complain(`axe: ${violation}`));
}

/// The points of charts against the results of the document: same value, and no measured time is missing.
async function checkPoints(page, complain, path) {
  const results = JSON.parse(readFileSync(path, 'utf8')).results;
  // As the page writes characters that cannot be seen.
  const visible = text => text.replace(/[\n\r\t]/g, ' ').replace(/[\p{Cc}\p{Cf}\u2028\u2029\ufffe\uffff]/gu,
    c => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
  const label = result => {
    const params = Object.entries(result.params ?? {}).map(([key, value]) => `${key}=${value}`);
    return visible(result.case + (params.length ? `{${params.join(',')}}` : ''));
  };
  const known = new Map();
  for (const result of results) {
    if (result.estimate) known.set(`${label(result)}, ${result.metric}`, result.estimate.median);
  }
  const points = await page.$$eval('.charts .p', all => all.map(point => ({
    words: point.querySelector('title').textContent,
    rows: point.closest('svg').hasAttribute('data-rows'),
    x: Number(point.getAttribute('data-x')),
    y: Number(point.getAttribute('data-y')),
    placed: /^translate\([-\d.]+ [-\d.]+\)$/.test(point.getAttribute('transform')),
  })));
  const drawn = new Set();
  for (const { words, rows, x, y, placed } of points) {
    if (!placed) complain(`no place: ${words}`);
    const name = [...known.keys()].find(name => words.startsWith(`${name}: `));
    if (!name) continue; // of the course of the run, or of a comparison
    drawn.add(name);
    if (known.get(name) !== (rows ? x : y)) complain(`${words}: ${rows ? x : y} is not ${known.get(name)}`);
  }
  for (const name of known.keys()) {
    if (name.endsWith(', time') && !drawn.has(name)) complain(`no point for ${name}`);
  }
}

async function checkKeyboard(page, complain) {
  const unreachable = await page.evaluate(() => {
    const wanted = [...document.querySelectorAll('a[href], button, input, summary, .plot svg')]
      .filter(element => element.checkVisibility() && !element.closest('details:not([open]) > :not(summary)'));
    return wanted.filter(element => element.tabIndex < 0).map(element => element.outerHTML.slice(0, 100));
  });
  unreachable.forEach(element => complain(`not reached by keyboard: ${element}`));
  const chart = await page.$('.plot svg');
  if (chart) {
    await chart.evaluate(svg => svg.focus());
    await page.keyboard.press('ArrowRight');
    const tip = await page.$eval('.tip', tip => !tip.classList.contains('off') && tip.textContent);
    if (!tip) complain('an arrow key shows no value');
    await page.keyboard.press('Escape');
  }
}

/// The filter keeps what it should, the scales may be changed, and a table is sorted.
async function checkScript(page, complain) {
  const seen = await page.evaluate(() => {
    const rows = [...document.querySelectorAll('main section[id^="area-"] tbody tr')];
    const input = document.querySelector('#filter');
    const visible = () => rows.filter(row => !row.classList.contains('off')).length;
    input.value = 'no such point anywhere';
    input.dispatchEvent(new Event('input'));
    const none = visible();
    input.value = '';
    input.dispatchEvent(new Event('input'));
    const places = () => [...document.querySelectorAll('.p')].map(point => point.getAttribute('transform')).join();
    const before = places();
    const scale = [...document.querySelectorAll('figure .tools button')];
    scale.forEach(button => button.click());
    const moved = scale.length === 0 || places() !== before;
    const sound = !/NaN|Infinity/.test(places());
    document.querySelector('thead button')?.click();
    return { none, all: visible() === rows.length, moved, sound };
  });
  if (seen.none !== 0 || !seen.all) complain('the filter does not filter');
  if (!seen.moved) complain('another scale moves no point');
  if (!seen.sound) complain('another scale loses points');
}

try {
  for (const { page: path, document } of reports) {
    for (const [at, width] of [375, 800, 1600].entries()) {
      for (const dark of [false, true]) {
        for (const scripts of [true, false]) {
          const { page, complain } = await open(path, { width, dark, scripts });
          const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
          if (wider) complain('the page scrolls sideways');
          if (scripts && at !== 1) await checkAxe(page, complain);
          if (document && at === 0 && !dark) await checkPoints(page, complain, document);
          if (scripts && at === 1) {
            await checkKeyboard(page, complain);
            await checkScript(page, complain);
          }
          await page.close();
        }
      }
    }
  }
} finally {
  await browser.close();
}
complaints.forEach(complaint => console.log(complaint));
process.exit(complaints.length ? 1 : 0);
