// Opens reports in Chromium as their readers do, and checks what no test of text can: that nothing is requested, that
// nothing is an error, that axe-core finds no violation, that charts have the points of the documents, and that the keyboard
// reaches everything. Arguments: a JSON array of {page, runs, compared, study, history, texts}, and Chromium. `page`, `runs`
// (documents), `compared` (of `compare --json`), `study` (of `study --json`) and `history` (of `history --json`) are paths, `texts`
// must appear as text. Prints one line per complaint.
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
  // A busy machine is no reason to complain.
  protocolTimeout: 300_000,
});
const json = path => JSON.parse(readFileSync(path, 'utf8'));

async function open(path, scripts) {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const state = { page, about: path };
  state.complain = text => complaints.push(`${state.about}: ${text}`);
  page.on('console', message => state.complain(`console: ${message.text()}`));
  page.on('pageerror', error => state.complain(`error: ${error.message}`));
  page.on('dialog', dialog => { state.complain(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', request => {
    if (request.url() !== pathToFileURL(path).href) state.complain(`request: ${request.url()}`);
  });
  // Of two pages at the same time, only one is in front.
  await (await page.createCDPSession()).send('Emulation.setFocusEmulationEnabled', { enabled: true });
  await page.setJavaScriptEnabled(scripts);
  await page.goto(pathToFileURL(path).href);
  // The page's own script does not run any more, but axe-core needs timers.
  await page.setJavaScriptEnabled(true);
  // The page's policy keeps scripts out of it, but not those of the debugger.
  await page.evaluate(axe);
  return state;
}

async function checkAxe({ page, complain }) {
  const violations = await page.evaluate(async () => {
    const found = await window.axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 150)).join(' | ')}`);
  });
  violations.forEach(violation => complain(`axe: ${violation}`));
}

/// Six significant digits, of which no more than the last one may differ.
const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));

/// A set of figures that points must have and may have: `needed` are those without which a chart is not complete.
class Figures {
  constructor() { this.all = []; }
  add(figure) { this.all.push({ drawn: false, ...figure }); }
  /// Marks the figures that a point shows; whether there are any.
  draw(fits) {
    const found = this.all.filter(fits);
    found.forEach(figure => { figure.drawn = true; });
    return found.length > 0;
  }
  missing() { return this.all.filter(figure => figure.needed && !figure.drawn); }
}

// The interval that is shown: that of the next run, unless all rounds were equal.
function shown({ median, low, high }, next) {
  if (!next || low === high) return { median, low, high };
  return { median, low: Math.min(next.low, median), high: Math.max(next.high, median) };
}

function figuresOf({ runs, compared, study }) {
  const results = new Figures(), ratios = new Figures(), cells = new Figures(), jobs = new Figures();
  for (const path of runs ?? []) {
    for (const { case: name, metric, estimate, next_run: next, timeline } of json(path).results) {
      if (estimate) results.add({ name: `${name} ${metric}`, ...shown(estimate, next) });
      for (const [low, high] of timeline ?? []) jobs.add({ name: `${name} job`, low, high });
    }
  }
  const ratio = found => {
    if (found && found.mid > 0 && found.low > 0) ratios.add(found);
  };
  const comparison = compared ? json(compared) : {};
  for (const { rows } of comparison.comparisons ?? []) rows.forEach(row => ratio(row.ratio));
  for (const row of comparison.rows ?? []) row.cells.forEach(cell => ratio(cell.against_base?.ratio));
  for (const standing of [...comparison.overview?.areas ?? [], ...comparison.overview?.designs ?? []]) {
    standing.columns.forEach(column => ratio(column.mean?.ratio));
  }
  for (const table of study ? json(study).tables : []) {
    for (const cell of table.rows.flatMap(row => row.cells)) {
      const published = Number(cell.published ?? NaN);
      if (Number.isFinite(published)) cells.add({ name: `${table.title} published`, mid: published, needed: true });
      for (const { value } of cell.here) {
        if (value) cells.add({ name: `${table.title} here`, mid: value.value, ...value, needed: true });
      }
    }
  }
  return { results, ratios, cells, jobs };
}

/// The points, bars and spans of charts against the documents: each is a figure of them, and no cell of a study is missing.
async function checkPoints({ page, complain }, report) {
  const { results, ratios, cells, jobs } = figuresOf(report);
  const points = await page.$$eval('[data-v]', all => all.map(point => ({
    words: point.closest('figure').querySelector('figcaption').textContent,
    kind: point.closest('#study') ? 'cell' : point.closest('.spans') ? 'job' : point.closest('.ratio') ? 'ratio' : 'figure',
    values: point.getAttribute('data-v').split(' ').map(Number),
  })));
  for (const { words, kind, values } of points) {
    const [value, low, high] = values.slice(kind !== 'job' && values.length === 4 ? 1 : 0);
    if (values.some(Number.isNaN)) complain(`no value: ${words}`);
    const ends = figure => near(figure.low, low) && (!Number.isFinite(high) || near(figure.high, high));
    const is = {
      cell: () => cells.draw(figure => near(figure.mid, value) && (low === high || ends(figure))),
      job: () => jobs.draw(figure => near(figure.low, values[0]) && near(figure.high, values[1])),
      ratio: () => ratios.draw(figure => near(figure.mid, value) && ends(figure)),
      figure: () => results.draw(figure => near(figure.median, value) && (ends(figure) || low === high)),
    };
    if (!is[kind]()) complain(`no document has this: ${words} (${values})`);
  }
  for (const figure of cells.missing()) complain(`no bar for ${figure.name} ${figure.mid}`);
  if (jobs.all.length && !report.compared && !jobs.all.some(job => job.drawn)) complain('no job is drawn');
}

/// The charts of a history: each figure of several visits has one, with a point for each visit where it was measured, in a band
/// that is no wider than what was predicted, and a mark at each change.
async function checkHistory({ page, complain }, { history }) {
  const charts = await page.$$eval('#charts figure', all => all.map(figure => ({
    words: figure.querySelector('figcaption').textContent,
    points: [...figure.querySelectorAll('[data-v]')].map(point => point.getAttribute('data-v').split(' ').map(Number)),
    marks: [...figure.querySelectorAll('.mark title')].map(title => title.textContent),
  })));
  const wanted = json(history).series.flatMap(({ trends }) => trends.filter(({ visits }) => visits.length > 1));
  if (charts.length !== wanted.length) complain(`${charts.length} charts for ${wanted.length} figures`);
  for (const { case: name, visits, changes } of wanted) {
    const shows = ({ points }) => points.length === visits.length && points.every(([x, y, low, high], at) => {
      const { figure: { median }, predicted } = visits[at];
      const [least, most] = predicted ?? [median, median];
      const isWithin = (low >= least || near(low, least)) && (high <= most || near(high, most));
      return x === at && near(y, median) && low <= high && isWithin;
    });
    const chart = charts.find(chart => chart.words.includes(name) && shows(chart));
    if (!chart) complain(`no chart has the visits of ${name}`);
    for (const { before, after } of changes) {
      const words = `${before} visits before, ${after} after`;
      if (chart && !chart.marks.some(mark => mark.includes(words))) complain(`no mark says ${words} in ${name}`);
    }
  }
}

/// The tables have a row for each figure and failure of the documents.
async function checkTables({ page, complain }, { runs, compared }) {
  const count = id => page.$$eval(`#${id} > .scroll tbody tr`, rows => rows.length);
  const keys = new Set();
  let repeated = 0;
  for (const path of runs ?? []) {
    const own = new Set();
    for (const { case: name, params, metric, outcome } of json(path).results.filter(result => result.outcome !== 'unsupported')) {
      const key = JSON.stringify([name, Object.entries(params).sort(), metric]);
      repeated += own.has(key);
      own.add(key);
      keys.add(key);
    }
  }
  const rows = await count('figures');
  if (rows < keys.size + repeated) complain(`${rows} rows for ${keys.size} figures`);
  if (compared) {
    const { comparisons, rows: wanted } = json(compared);
    const least = wanted ? wanted.length : Math.max(...comparisons.map(({ rows }) => rows.length));
    const found = await count('compared');
    if (found < least) complain(`${found} rows for ${least} compared figures`);
  }
}

/// The tabulator key goes through everything that can be used, and arrows go through a chart.
async function checkKeyboard({ page, complain }) {
  const count = await page.evaluate(() => {
    const wanted = [...document.querySelectorAll('a[href], button, input, summary, svg.plot, .scroll')]
      .filter(element => element.checkVisibility() && !element.closest('details:not([open]) > :not(summary)'));
    wanted.forEach(element => element.setAttribute('data-wanted', ''));
    document.activeElement?.blur();
    document.addEventListener('focusin', event => event.target.removeAttribute('data-wanted'));
    return wanted.length;
  });
  for (let at = 0; at < count + 20; at += 1) await page.keyboard.press('Tab');
  const unreached = await page.$$eval('[data-wanted]', all => all.map(element => element.outerHTML.slice(0, 100)));
  unreached.forEach(element => complain(`not reached by keyboard: ${element}`));
  const chart = await page.$('svg.plot:has(.p)');
  if (chart) {
    await chart.evaluate(svg => {
      for (let at = svg; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
      svg.focus();
    });
    await page.keyboard.press('ArrowRight');
    const tip = await page.$eval('.tip', tip => !tip.classList.contains('off') && tip.textContent);
    if (!tip) complain('an arrow key shows no value');
    await page.keyboard.press('Escape');
  }
}

/// The search keeps what it should, and a table is sorted.
async function checkScript({ page, complain }) {
  const seen = await page.evaluate(() => {
    const rows = [...document.querySelectorAll('#figures > .scroll tbody tr')];
    const input = document.querySelector('#figures .search');
    const visible = () => rows.filter(row => !row.classList.contains('off')).length;
    input.value = 'no such point anywhere';
    input.dispatchEvent(new Event('input'));
    const none = visible();
    input.value = '';
    input.dispatchEvent(new Event('input'));
    const heading = document.querySelector('#figures thead button');
    heading.click();
    return { none, all: visible() === rows.length, sorted: heading.parentElement.getAttribute('aria-sort') === 'ascending' };
  });
  if (seen.none !== 0 || !seen.all) complain('the search does not search');
  if (!seen.sorted) complain('the table is not sorted');
}

/// Texts from outside are text, and nothing but the page's own elements is there.
async function checkTexts({ page, complain }, texts) {
  const { text, strange } = await page.evaluate(() => ({
    text: document.body.textContent.replace(/\s+/g, ' '),
    strange: [...document.querySelectorAll('img, iframe, base, object, embed, form, meta[http-equiv=refresh], x')].length,
  }));
  if (strange) complain(`${strange} elements from a text`);
  for (const wanted of texts) {
    if (!text.includes(wanted.replace(/\s+/g, ' ').trim())) complain(`not shown as text: ${wanted.slice(0, 80)}`);
  }
}

/// One kind of report, with or without scripts, at all widths in both colour schemes.
async function check(report, scripts) {
  const state = await open(report.page, scripts);
  const { page, complain } = state;
  for (const width of [375, 800, 1600]) {
    for (const dark of [false, true]) {
      state.about = `${report.page} at ${width}${dark ? ' dark' : ' light'}${scripts ? '' : ' without scripts'}`;
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
      for (const open of [false, true]) {
        await page.evaluate(open => document.querySelectorAll('details').forEach(details => { details.open = open; }), open);
        if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) complain('the page scrolls sideways');
        // Each two of width, scheme and openness, in half of the time that all three would take.
        if (open === (dark === (width === 800))) await checkAxe(state);
      }
    }
  }
  if (report.history) {
    await checkHistory(state, report);
  } else {
    await checkPoints(state, report);
    await checkTables(state, report);
  }
  await checkTexts(state, report.texts ?? []);
  if (scripts) {
    await checkKeyboard(state);
    if (!report.history) await checkScript(state);
  }
  await page.close();
}

try {
  const tasks = reports.flatMap(report => [true, false].map(scripts => [report, scripts]));
  // Two pages at the same time.
  await Promise.all([0, 1].map(async () => {
    for (let task = tasks.shift(); task; task = tasks.shift()) await check(...task);
  }));
} finally {
  await browser.close();
}
complaints.forEach(complaint => console.log(complaint));
process.exit(complaints.length ? 1 : 0);
