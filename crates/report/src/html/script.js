'use strict';
// Values of points on hover and focus, and tables that are searched, sorted and copied. The page is complete without it.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// Tip: the title of a point in words.
const tip = make('div', { className: 'tip off' });
tip.setAttribute('role', 'status');
document.querySelector('main').append(tip);
let shown = null;
const show = point => {
  if (shown) shown.classList.remove('on');
  shown = point;
  tip.classList.toggle('off', !point);
  if (!point) return;
  point.classList.add('on');
  tip.textContent = point.querySelector('title').textContent;
  const box = point.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = (box.top > tip.offsetHeight + 8 ? box.top - tip.offsetHeight - 6 : box.bottom + 6) + 'px';
};

// Charts of lines: one stop of the keyboard each; arrows go from point to point.
for (const svg of all('svg.plot')) {
  const points = all('.p', svg);
  let at = -1;
  svg.setAttribute('tabindex', '0');
  svg.addEventListener('keydown', event => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -points.length, End: points.length };
    if (event.key === 'Escape') at = -1;
    else if (event.key in steps) at = Math.min(points.length - 1, Math.max(0, at + steps[event.key]));
    else return;
    event.preventDefault();
    show(points[at] || null);
  });
  svg.addEventListener('blur', () => show(null));
  svg.addEventListener('pointerover', event => show(event.target.closest('.p')));
  svg.addEventListener('pointerleave', () => show(null));
}

// A link to a folded section opens it.
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
};
addEventListener('hashchange', open);
open();

// Tables: sorted by a click on a heading.
const SCALES = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, k: 1e3, M: 1e6, G: 1e9 };
// "1.111 us" is 1111: figures of one column have units of one kind.
const valueOf = cell => {
  const text = (cell.firstChild ?? cell).textContent.trim();
  const [, digits, unit = ''] = /^[<>±]?(-?\d[\d,.]*)(?: ?([a-zA-Z/%]+))?$/.exec(text) ?? [];
  const scale = SCALES[unit] ?? SCALES[unit.slice(0, -1) && unit[0]] ?? 1;
  return digits ? Number((Number(digits.replaceAll(',', '')) * scale).toPrecision(6)) : cell.textContent.trim();
};
const compare = (a, b) => {
  if (typeof a === typeof b) return typeof a === 'number' ? a - b : a.localeCompare(b, 'en', { numeric: true });
  return typeof a === 'number' ? -1 : 1;
};
for (const table of all('.scroll table')) {
  const headings = all('thead th', table);
  headings.forEach((heading, column) => {
    const button = make('button', { type: 'button' }, ...heading.childNodes);
    heading.append(button);
    button.onclick = () => {
      const up = heading.getAttribute('aria-sort') !== 'ascending';
      headings.forEach(other => other.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = [...table.tBodies[0].rows].map(row => [valueOf(row.cells[column]), row]);
      rows.sort(([a], [b]) => compare(a, b) * (up ? 1 : -1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    };
  });
}

// The tables of all figures: searched by all words of a text, and copied as CSV.
const quoted = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
for (const table of all('#figures > .scroll table, #compared > .scroll table')) {
  const rows = [...table.tBodies[0].rows].map(row => [row, row.textContent.toLowerCase()]);
  const count = make('span');
  count.setAttribute('role', 'status');
  const input = make('input', { type: 'search', className: 'search' });
  input.oninput = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let kept = 0;
    for (const [row, text] of rows) {
      const keep = words.every(word => text.includes(word));
      kept += keep;
      row.classList.toggle('off', !keep);
    }
    count.textContent = words.length ? `${kept} of ${rows.length} rows` : '';
  };
  const copy = make('button', { type: 'button', textContent: 'Copy as CSV' });
  copy.setAttribute('aria-label', 'Copy as CSV: ' + table.caption.textContent);
  copy.onclick = async () => {
    const csv = [...table.rows].filter(row => !row.classList.contains('off'))
      .map(row => [...row.cells].map(cell => quoted(String(valueOf(cell)))).join(',')).join('\n') + '\n';
    try {
      await navigator.clipboard.writeText(csv);
      copy.textContent = 'Copied';
    } catch {
      const area = make('textarea', { value: csv });
      area.setAttribute('aria-label', 'CSV');
      copy.after(area);
      area.select();
    }
  };
  table.parentElement.before(make('div', { className: 'tools' }, make('label', {}, 'Search: ', input), count, copy));
}
addEventListener('beforeprint', () => all('details').forEach(details => { details.open = true; }));
