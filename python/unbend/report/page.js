"use strict";
// Functions of the page that bokeh lacks: arrays from text, colors, the neighbors of a point, and its description.
// Text from the data is only set as textContent, never as HTML.
(async () => {
  const $ = id => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent);
  const TYPES = { float32: Float32Array, float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array };
  const REACH = 14; // pixels from the pointer within which a point is found
  const THUMBS = 48; // pictures shown of a selection
  const WRITTEN = 5000; // numbers of a selection that are written at once

  // Arrays ------------------------------------------------------------------------------------------------

  function bytes(id) {
    const text = $(id).textContent;
    $(id).remove();
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text), found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found;
  }
  const array = (name, type) => new TYPES[type](bytes("data-" + name).buffer);

  function element(tag, text, properties) {
    const made = Object.assign(document.createElement(tag), properties);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Index of each point in the data; points of a sample keep it.
  const called = i => columns.point ? columns.point[i] : i;
  const place = number => columns.point ? columns.point.indexOf(number) : number >= 0 && number < facts.n ? number : -1;

  // The pictures ------------------------------------------------------------------------------------------

  const columns = {};
  for (const [name, type] of Object.entries(facts.columns)) columns[name] = array(name, type);
  const near = array("near", facts.nearType);
  await Bokeh.embed.embed_items(JSON.parse($("docs").textContent), facts.items);
  const document_ = Bokeh.documents[0];
  const model = name => document_.get_model_by_name(name);
  const points = model("points"), lines = model("near");
  const pictures = facts.embeddings.map((_, e) => model("picture" + e));
  const fields = facts.embeddings.map((_, e) => [`y${e}_0`, `y${e}_1`]);
  let mode = facts.modes[0], size = facts.size;

  function each(renderer, change) {
    for (const kind of ["glyph", "selection_glyph", "nonselection_glyph", "muted_glyph"]) {
      const glyph = renderer[kind];
      if (glyph && typeof glyph === "object") change(glyph);
    }
  }

  // The points, painted into an image that bokeh shows ------------------------------------------------------

  const pixel = color => (0xff000000 | parseInt(color.slice(5, 7) + color.slice(3, 5) + color.slice(1, 3), 16)) >>> 0;
  const palette = () => Uint32Array.from([...(mode.labels ? facts.categories : mode.labels === null ? [] : facts.scale), facts.plain], pixel);

  /** The place of each point's color in the palette, the last for points without one. */
  function coded(e) {
    const values = columns[mode.fields[e]], last = palette().length - 1, codes = new Uint8Array(facts.n);
    if (!values) return codes.fill(last);
    const [low, high] = mode.labels ? [0, last] : [mode.low, mode.high], most = last - 1;
    for (let i = 0; i < codes.length; i++) {
      const code = Math.floor(last * (values[i] - low) / (high - low));
      codes[i] = values[i] === values[i] ? Math.min(most, Math.max(0, code)) : last;
    }
    return codes;
  }

  const paint = painter(), colors = pictures.map(() => null), stale = new Set();
  let chosen = null; // of every point whether it is selected, if any is

  function draw(e) {
    const { x_range, y_range, inner_width, inner_height } = pictures[e], source = model("image" + e);
    const scale = window.devicePixelRatio || 1, [width, height] = [inner_width, inner_height].map(side => Math.round(side * scale));
    if (!(width > 0 && height > 0)) return;
    const Image = source.data.image[0].constructor, image = new Image(new ArrayBuffer(4 * width * height), [height, width]);
    const [x, y] = fields[e].map(name => columns[name]), { start: left, end: right } = x_range, { start: bottom, end: top } = y_range;
    const view = { width, height, left, bottom, perX: width / (right - left), perY: height / (top - bottom) };
    const layers = chosen ? [{ alpha: 0.08, wanted: chosen, value: 0 }, { alpha: 0.85, wanted: chosen, value: 1 }] : [{ alpha: 0.85 }];
    paint(view, { x, y }, colors[e] ??= coded(e), palette(), size * scale, layers, image);
    Object.assign(source.data, { image: [image], x: [left], y: [bottom], dw: [right - left], dh: [top - bottom] });
    source.change.emit();
  }

  /** Draw again before the next frame, once for all changes until then. */
  function redraw(...places) {
    if (!stale.size) queueMicrotask(() => { const all = [...stale]; stale.clear(); all.forEach(draw); });
    places.forEach(e => stale.add(e));
  }
  const redrawAll = () => redraw(...pictures.keys());
  const short = value => Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "not measured";
  const unscaled = value => mode.log ? 10 ** value : value;

  function legend() {
    const into = $("legend"), name = element("span", mode.labels === null ? "" : mode.name);
    into.replaceChildren(name);
    if (mode.labels === null) return;
    if (mode.labels) {
      mode.labels.forEach((label, code) => {
        const item = element("span"), swatch = element("span", undefined, { className: "swatch" });
        swatch.style.background = facts.categories[code];
        item.append(swatch, label);
        into.append(item);
      });
    } else {
      const ramp = element("span", undefined, { className: "ramp" });
      ramp.style.background = `linear-gradient(90deg, ${facts.scale.join(",")})`;
      into.append(element("span", short(unscaled(mode.low))), ramp, element("span", short(unscaled(mode.high))));
    }
    into.setAttribute("aria-label", "Colors: " + into.textContent);
  }

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--faint", "--line"].map(name => style.getPropertyValue(name).trim());
    for (const picture of pictures) {
      const numbers = model(picture.name.replace("picture", "numbers"));
      if (numbers) each(numbers, glyph => { glyph.text_color = style.getPropertyValue("--ink").trim(); });
      picture.outline_line_color = line;
      for (const axis of [...picture.below, ...picture.left]) {
        axis.setv({ axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null, major_label_text_color: ink });
      }
      for (const grid of picture.center) if ("grid_line_color" in grid) grid.grid_line_color = line + "80";
    }
  }

  // The two sides of cuts ---------------------------------------------------------------------------------

  const sewn = e => [`sides${e}`, `arrows${e}`, `arrows${e}-reflected`, `numbers${e}`].map(model).filter(Boolean);

  function turnSides(e, pair) {
    const [sides, numbers] = [model(`sides${e}`), model(`numbers${e}`)];
    if (!sides) return;
    each(sides, glyph => glyph.setv({ x: { field: "x" + pair[0] }, y: { field: "x" + pair[1] } }));
    const [a, b, n] = ["a", "b", "n"].map(end => [0, 1].map(axis => ({ field: `${end}${pair}_${axis}` })));
    if (numbers) each(numbers, glyph => glyph.setv({ x: n[0], y: n[1] }));
    for (const arrow of sewn(e).filter(made => "x_start" in made)) arrow.setv({ x_start: a[0], y_start: a[1], x_end: b[0], y_end: b[1] });
  }

  /** The nearest point within reach of the pointer, or -1. A loop over all points takes less than a millisecond. */
  function under(e, event) {
    const { x_range, y_range, inner_width, inner_height } = pictures[e], [x, y] = fields[e].map(name => columns[name]);
    const perX = inner_width / (x_range.end - x_range.start) / REACH, perY = inner_height / (y_range.end - y_range.start) / REACH;
    let best = -1, least = 1;
    for (let i = 0; i < facts.n; i++) {
      const right = (x[i] - event.x) * perX, up = (y[i] - event.y) * perY, far = right * right + up * up;
      if (far < least) { best = i; least = far; }
    }
    return best;
  }

  // One point and its neighbors ----------------------------------------------------------------------------

  const neighbors = i => [...near.subarray(i * facts.near, (i + 1) * facts.near)].filter(j => j !== i);

  let shown = -1;
  function show(i) {
    if (i === shown) return;
    shown = i;
    const list = i < 0 ? [] : neighbors(i), data = {};
    fields.forEach(([x, y], e) => [x, y].forEach((name, axis) => {
      data[`a${e}_${axis}`] = list.map(() => columns[name][i]);
      data[`b${e}_${axis}`] = list.map(j => columns[name][j]);
    }));
    lines.data = data;
    if (i >= 0) describe(i, list);
  }

  // A label that turns the direction of text is closed off from what follows.
  const isolated = text => /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(text) ? `\u2068${text}\u2069` : text;
  const label = i => facts.labels ? isolated(facts.labels[columns.label[i]]) : "";
  const titled = i => `Point ${called(i)}` + (label(i) ? `: ${label(i)}` : "");
  const error = (e, i) => short(10 ** columns["e" + e][i]);

  function thumb(i, scale) {
    const { width, height, abreast, rows } = facts.thumbnails, made = element("div", undefined, { className: "thumb", title: titled(i) });
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", `picture of point ${called(i)}`);
    Object.assign(made.style, {
      width: `${width * scale}px`, height: `${height * scale}px`,
      backgroundSize: `${abreast * width * scale}px ${rows * height * scale}px`,
      backgroundPosition: `${-(i % abreast) * width * scale}px ${-Math.floor(i / abreast) * height * scale}px`,
    });
    return made;
  }

  function thumbs(list, pixels) {
    const row = element("div", undefined, { className: "thumbs" }), scale = Math.max(1, Math.round(pixels / facts.thumbnails.height));
    row.append(...list.map(i => thumb(i, scale)));
    return row;
  }

  function errors(name, of) {
    const table = element("table", undefined, { className: "plain" });
    facts.embeddings.forEach((embedding, e) => {
      const row = table.insertRow();
      row.append(element("th", embedding.name, { scope: "row" }), element("td", of(e)));
    });
    const whole = element("div");
    whole.append(element("p", name, { className: "note" }), table);
    return whole;
  }

  function describe(i, list) {
    const into = $("one"), more = facts.nearest > list.length ? `, ${list.length} of ${facts.nearest} of them` : "";
    into.replaceChildren(element("p", titled(i)));
    if (facts.thumbnails) into.append(thumbs([i], 72));
    if (facts.shade) into.append(errors(`Its ${facts.shade}`, e => error(e, i)));
    into.append(element("p", `Its true neighbors, nearest first${more}: ${list.map(j => called(j) + (label(j) ? ` (${label(j)})` : "")).join(", ")}`));
    if (facts.thumbnails) into.append(thumbs(list, 48));
  }

  function tip(e, i, pointer) {
    const box = $("tip");
    box.hidden = i < 0 || !pointer;
    if (box.hidden) return;
    box.replaceChildren(element("p", titled(i)));
    if (facts.thumbnails) box.append(thumbs([i], 48));
    if (facts.shade) box.append(element("p", `${facts.shade} ${error(e, i)}`));
    const left = pointer.clientX + 16, width = box.offsetWidth;
    box.style.left = `${left + width > innerWidth ? Math.max(0, pointer.clientX - width - 16) : left}px`;
    box.style.top = `${Math.min(pointer.clientY + 12, innerHeight - box.offsetHeight)}px`;
  }

  // Selections ----------------------------------------------------------------------------------------------

  function selected() {
    const into = $("many"), list = points.selected.indices;
    chosen = list.length ? new Uint8Array(facts.n) : null;
    for (const i of list) chosen[i] = 1;
    redrawAll();
    if (!chosen) return into.replaceChildren(element("p", "None yet.", { className: "note" }));
    into.replaceChildren(element("p", `${list.length.toLocaleString("en")} of ${facts.n.toLocaleString("en")} points`));
    if (facts.shade) into.append(errors(`Median of their ${facts.shade}`, e => {
      const held = Float64Array.from(list, i => columns["e" + e][i]).filter(Number.isFinite).sort();
      return held.length ? short(10 ** held[held.length >> 1]) : "not measured";
    }));
    if (facts.labels) into.append(element("p", counted(list)));
    if (facts.thumbnails) into.append(thumbs([...list].slice(0, THUMBS), 48));
    into.append(numbers(list));
  }

  /** A box with the numbers of points, to be copied; very many are written when the box gets the focus. */
  function numbers(list) {
    const box = element("textarea", undefined, { readOnly: true }), write = () => { box.value = [...list].map(called).join(", "); };
    box.setAttribute("aria-label", "numbers of the selected points");
    if (list.length > WRITTEN) box.placeholder = `${list.length.toLocaleString("en")} numbers, once you click here`; else write();
    box.addEventListener("focus", () => { write(); box.select(); });
    return box;
  }

  function counted(list) {
    const counts = new Map();
    for (const i of list) counts.set(label(i), (counts.get(label(i)) ?? 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1]), rest = most.length > 8 ? ` and ${most.length - 8} other labels` : "";
    return most.slice(0, 8).map(([name, count]) => `${name}: ${count}`).join(", ") + rest;
  }

  const COMBINED = {
    replace: (before, now) => now, append: (before, now) => before | now, intersect: (before, now) => before & now,
    subtract: (before, now) => before & ~now, xor: (before, now) => before ^ now,
  };

  /** Put the points within a lasso together with those of `before`. It is filled in a picture, where they are looked up. */
  function within(e, { x: xs, y: ys }, how, before) {
    const { x_range, y_range, inner_width: width, inner_height: height } = pictures[e];
    const perX = width / (x_range.end - x_range.start), perY = height / (y_range.end - y_range.start);
    const canvas = element("canvas", undefined, { width, height }), context = canvas.getContext("2d", { willReadFrequently: true });
    context.beginPath();
    for (let k = 0; k < xs.length; k++) context.lineTo((xs[k] - x_range.start) * perX, (ys[k] - y_range.start) * perY);
    context.fill("evenodd");
    const { data } = context.getImageData(0, 0, width, height), [px, py] = fields[e].map(name => columns[name]), list = [];
    const combined = COMBINED[how] ?? COMBINED.replace;
    for (let i = 0; i < facts.n; i++) {
      const u = Math.floor((px[i] - x_range.start) * perX), v = Math.floor((py[i] - y_range.start) * perY);
      const inside = u >= 0 && v >= 0 && u < width && v < height && data[4 * (v * width + u) + 3] > 127;
      if (combined(before ? before[i] : 0, inside ? 1 : 0) & 1) list.push(i);
    }
    points.selected.indices = list;
  }

  // Events of the user -------------------------------------------------------------------------------------

  function move(picture, right, up, factor) {
    [[picture.x_range, right], [picture.y_range, up]].forEach(([range, step]) => {
      const { start, end } = range, middle = (start + end) / 2 + step * (end - start), half = factor * (end - start) / 2;
      range.have_updated_interactively = true;
      range.setv({ start: middle - half, end: middle + half });
    });
  }
  const KEYS = {
    ArrowLeft: [-0.1, 0, 1], ArrowRight: [0.1, 0, 1], ArrowUp: [0, 0.1, 1], ArrowDown: [0, -0.1, 1],
    "+": [0, 0, 0.8], "=": [0, 0, 0.8], "-": [0, 0, 1.25],
  };

  function listen(div, e) {
    const picture = pictures[e], lasso = picture.toolbar.tools.find(tool => tool.type === "LassoSelectTool");
    let pointer = null, asked = false, last = null, before;
    for (const kind of ["pointermove", "pointerup"]) div.addEventListener(kind, event => { pointer = event; }, true);
    picture.on_event("selectiongeometry", event => {
      const { shiftKey, ctrlKey } = pointer ?? {};
      if (before === undefined) before = chosen; // a lasso under way selects, too: it begins from there each time
      within(e, event.geometry, shiftKey ? (ctrlKey ? "subtract" : "append") : ctrlKey ? "intersect" : lasso.mode, before);
      if (event.final) before = undefined;
    });
    lasso.clear?.connect(clear);
    lasso.invert?.connect(() => { points.selected.indices = [...Array(facts.n).keys()].filter(i => !chosen?.[i]); });
    for (const range of [picture.x_range, picture.y_range]) range.change.connect(() => redraw(e));
    for (const side of ["inner_width", "inner_height"]) picture.properties[side].change.connect(() => redraw(e));
    div.addEventListener("pointerleave", () => { last = null; show(-1); tip(e, -1); });
    picture.on_event("mousemove", event => {
      last = event;
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        if (!last) return;
        const i = under(e, last);
        show(i);
        tip(e, i, pointer);
      });
    });
    picture.on_event("tap", event => {
      const i = under(e, event);
      points.selected.indices = i < 0 ? [] : [i];
      if (i >= 0) show(i);
    });
    div.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (KEYS[event.key]) move(picture, ...KEYS[event.key]);
      else if (event.key === "0") picture.reset.emit();
      else if (event.key === "Escape") clear();
      else return;
      event.preventDefault();
    });
  }

  $("mode").addEventListener("change", event => { mode = facts.modes[event.target.value]; colors.fill(null); redrawAll(); legend(); });
  $("size").addEventListener("input", event => { size = +event.target.value; redrawAll(); });
  $("seams")?.addEventListener("change", event => facts.embeddings.forEach((_, e) => sewn(e).forEach(made => { made.visible = event.target.checked; })));
  function clear() {
    points.selected.indices = [];
    show(-1);
  }
  $("clear").addEventListener("click", clear);
  $("controls").addEventListener("submit", event => {
    event.preventDefault();
    const number = $("point").value, i = number === "" ? -1 : place(+number);
    if (i >= 0) show(i);
    else $("one").replaceChildren(element("p", `There is no point ${number} in the pictures.`, { className: "note" }));
  });
  for (const choice of document.querySelectorAll(".axes select")) choice.addEventListener("change", () => {
    const e = +choice.dataset.place, [x, y] = choice.value.split(",").map(axis => `y${e}_${axis}`);
    fields[e] = [x, y];
    turnSides(e, choice.value.replace(",", ""));
    each(model("extent" + e), glyph => glyph.setv({ x: { field: "x" + choice.value[0] }, y: { field: "x" + choice.value[2] } }));
    redraw(e);
    pictures[e].reset.emit();
    shown = -1;
  });
  for (const div of document.querySelectorAll(".picture")) listen(div, +div.dataset.place);
  points.selected.properties.indices.change.connect(selected);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);

  $("size").value = size;
  theme();
  legend();
  points.data = columns;
  redrawAll();
  $("wait").remove();
  requestAnimationFrame(() => setTimeout(() => { document.documentElement.dataset.ready = Math.round(performance.now()); }));
})().catch(error => {
  const wait = document.getElementById("wait");
  if (wait) wait.textContent = `The pictures cannot be drawn here (${error.message}). The numbers below stand.`;
  throw error;
});
