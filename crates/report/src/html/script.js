'use strict';
// Values on hover and focus, lines on and off, scales, filter, sort, and tables as CSV. The page is complete without it.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const number = (element, name) => Number(element.getAttribute('data-' + name));

// "x y low high": a point without an interval has only its value.
const figureOf = (point, rows) => {
  const [x, y, low = rows ? x : y, high = low] = point.getAttribute('data-v').split(' ').map(Number);
  return { point, x, y, low, high };
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

// Scales: "log 1 100 lin 0 104" are the ends of those that an axis may have.
const scalesOf = svg => ['x', 'y'].map(axis => {
  const words = svg.getAttribute('data-' + axis).split(' ');
  const scales = {};
  for (let i = 0; i < words.length; i += 3) scales[words[i]] = [Number(words[i + 1]), Number(words[i + 2])];
  return { axis, scales, kind: words[0] };
});
const share = ({ scales, kind }, value) => {
  const [low, high] = scales[kind];
  const inside = Math.min(high, Math.max(low, value));
  return kind === 'log' ? Math.log(inside / low) / Math.log(high / low) : (inside - low) / (high - low);
};
const place = (svg, axes) => {
  const [left, right, top, bottom] = svg.getAttribute('data-area').split(' ').map(Number);
  const rows = svg.hasAttribute('data-rows');
  const [first, last] = axes[1].scales.lin || [0, 1];
  const px = value => left + share(axes[0], value) * (right - left);
  const py = value => rows
    ? top + (value - first) / (last - first) * (bottom - top)
    : bottom - share(axes[1], value) * (bottom - top);
  for (const { axis, kind } of axes) {
    for (const mesh of all('.mesh.' + axis, svg)) {
      mesh.setAttribute('display', mesh.getAttribute('data-kind') === kind ? 'inline' : 'none');
    }
  }
  for (const line of all('.s', svg)) {
    const shift = Number(line.getAttribute('data-shift') || 0);
    const figures = all('.p', line).map(point => figureOf(point, rows));
    for (const { point, low, high, ...figure } of figures) {
      const [x, y] = [px(figure.x), py(figure.y) + shift];
      point.setAttribute('transform', `translate(${x} ${y})`);
      const whisker = point.querySelector('path');
      if (whisker) whisker.setAttribute('d', rows ? `M${px(low) - x} 0H${px(high) - x}` : `M0 ${py(low) - y}V${py(high) - y}`);
    }
    const path = line.querySelector('.line'), band = line.querySelector('.band');
    const at = end => figure => `${px(figure.x)} ${py(figure[end])}`;
    if (path) path.setAttribute('d', 'M' + figures.map(at('y')).join('L'));
    if (band) band.setAttribute('d', 'M' + [...figures.map(at('high')), ...figures.map(at('low')).reverse()].join('L') + 'Z');
  }
  for (const shade of all('.shade', svg)) {
    const low = px(number(shade, 'low'));
    shade.setAttribute('x', low);
    shade.setAttribute('width', px(number(shade, 'high')) - low);
  }
  for (const line of all('.ref', svg)) line.setAttribute('d', `M${px(number(line, 'at'))} ${top}V${bottom}`);
  for (const mark of all('.mark', svg)) {
    const low = px(number(mark, 'low'));
    const rect = mark.querySelector('rect');
    rect.setAttribute('x', low);
    rect.setAttribute('width', Math.max(1, px(number(mark, 'high')) - low));
    mark.querySelector('path').setAttribute('d', `M${px(number(mark, 'at'))} ${top}V${bottom}`);
  }
};

// Charts: one stop of the keyboard each; arrows go from point to point, and Enter goes to its row.
for (const figure of all('figure')) {
  const svg = figure.querySelector('.plot svg');
  const axes = scalesOf(svg);
  const tools = make('div', { className: 'tools' });
  for (const axis of axes.filter(axis => Object.keys(axis.scales).length > 1)) {
    const words = { lin: 'linear', log: 'logarithmic' };
    const button = make('button', { type: 'button' });
    const label = () => { button.textContent = `${axis.axis}: ${words[axis.kind]}`; };
    button.onclick = () => {
      axis.kind = axis.kind === 'log' ? 'lin' : 'log';
      label();
      place(svg, axes);
    };
    label();
    tools.append(button);
  }
  if (tools.children.length) figure.querySelector('.plot').after(tools);
  const lines = all('.s', svg);
  all('.legend li', figure).forEach((item, at) => {
    const button = make('button', { type: 'button' }, ...item.childNodes);
    button.setAttribute('aria-pressed', 'true');
    button.onclick = () => {
      const off = lines[at].classList.toggle('off');
      button.setAttribute('aria-pressed', String(!off));
    };
    item.append(button);
  });
  let at = -1;
  const visible = () => all('.s:not(.off) .p:not(.off)', svg);
  svg.setAttribute('tabindex', '0');
  svg.addEventListener('keydown', event => {
    const points = visible();
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key === 'Home') at = 0;
    else if (event.key === 'End') at = points.length - 1;
    else if (steps[event.key]) at = Math.min(points.length - 1, Math.max(0, at + steps[event.key]));
    else if (event.key === 'Escape') at = -1;
    else return;
    event.preventDefault();
    show(points[at] || null);
  });
  svg.addEventListener('blur', () => show(null));
  svg.addEventListener('pointerover', event => show(event.target.closest('.p')));
  svg.addEventListener('pointerleave', () => show(null));
}

// Each row with an identifier has a link to itself.
for (const row of all('tbody tr[id]')) {
  const name = row.querySelector('th');
  name.append(make('a', { href: '#' + row.id }, ...name.childNodes));
}

// Tables: sorted by a click on a heading; copied as CSV.
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
const quoted = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
for (const table of all('.scroll table')) {
  const headings = all('thead th', table);
  headings.forEach((heading, column) => {
    const button = make('button', { type: 'button' }, ...heading.childNodes);
    heading.append(button);
    button.onclick = () => {
      const up = heading.getAttribute('aria-sort') !== 'ascending';
      headings.forEach(other => other.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(valueOf(a.cells[column]), valueOf(b.cells[column])) * (up ? 1 : -1));
      table.tBodies[0].append(...rows);
    };
  });
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
  table.parentElement.before(make('div', { className: 'tools' }, copy));
}

// Filter: rows of tables and points of charts whose names have all words.
const input = make('input', { type: 'search', id: 'filter' });
const count = make('span');
count.setAttribute('role', 'status');
const rows = all('main section[id^="area-"] tbody tr').map(row => [row, row.textContent.toLowerCase()]);
const dots = all('figure .p').map(point => [point, point.textContent.toLowerCase()]);
document.documentElement.classList.toggle('large', rows.length + dots.length > 1500);
input.oninput = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = text => words.every(word => text.includes(word));
  let kept = 0;
  for (const [row, text] of rows) {
    const keep = fits(text);
    kept += keep;
    row.classList.toggle('off', !keep);
  }
  for (const [point, text] of dots) point.classList.toggle('off', !fits(text));
  count.textContent = words.length ? `${kept} of ${rows.length} rows` : '';
};
const label = make('label', {}, 'Filter points: ', input);
document.querySelector('#main').prepend(make('div', { className: 'tools filter' }, label, count));
addEventListener('beforeprint', () => all('details').forEach(details => { details.open = true; }));
