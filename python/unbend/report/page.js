"use strict";
// What the page does beyond bokeh: arrays from text, colours, the neighbours of a point, and words about it.
// Text that came with the data is only ever set as textContent.
(async () => {
  const $ = id => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent);
  const TYPES = { float32: Float32Array, float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array };
  const REACH = 14; // pixels from the pointer within which a point is found
  const THUMBS = 48; // pictures shown of a selection

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

  // The numbers a point is called by: of a sample, those it has in the data.
  const called = i => columns.point ? columns.point[i] : i;
  function place(number) {
    if (!columns.point) return number >= 0 && number < facts.n ? number : -1;
    let low = 0, high = facts.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (columns.point[middle] < number) low = middle + 1; else high = middle;
    }
    return columns.point[low] === number ? low : -1;
  }

  // The pictures ------------------------------------------------------------------------------------------

  const columns = {};
  for (const [name, type] of Object.entries(facts.columns)) columns[name] = array(name, type);
  const near = array("near", facts.nearType);
  // WebGL without a graphics card is slower than plain canvas.
  function hasCard() {
    const gl = document.createElement("canvas").getContext("webgl"), known = gl?.getExtension("WEBGL_debug_renderer_info");
    return !!gl && !/swiftshader|llvmpipe|software|basic render/i.test(known ? gl.getParameter(known.UNMASKED_RENDERER_WEBGL) : "");
  }
  const card = hasCard(), docs = card ? $("docs").textContent : $("docs").textContent.replaceAll('"webgl"', '"canvas"');
  await Bokeh.embed.embed_items(JSON.parse(docs), facts.items);
  const document_ = Bokeh.documents[0];
  const model = name => document_.get_model_by_name(name);
  const points = model("points"), lines = model("near"), mapper = model("mapper");
  const pictures = facts.embeddings.map((_, e) => model("picture" + e));
  const glyphs = pictures.map(picture => picture.renderers[0]);
  const fields = facts.embeddings.map((_, e) => [`y${e}_0`, `y${e}_1`]);
  let mode = facts.modes[0];

  function each(renderer, change) {
    for (const kind of ["glyph", "selection_glyph", "nonselection_glyph", "muted_glyph"]) {
      const glyph = renderer[kind];
      if (glyph && typeof glyph === "object") change(glyph);
    }
    // What is drawn while a picture moves has no place in the model, and would be grey.
    const moving = Bokeh.index.find_one?.(renderer)?.decimated_glyph?.model;
    if (moving) {
      change(moving);
      moving.fill_alpha = renderer.glyph.fill_alpha;
    }
  }

  function paint() {
    if (mode.labels === null) return;
    if (mode.labels) mapper.setv({ palette: facts.categories.slice(0, mode.labels.length), low: -0.5, high: mode.labels.length - 0.5 });
    else mapper.setv({ palette: facts.scale, low: mode.low, high: mode.high });
    glyphs.forEach((renderer, e) => each(renderer, glyph => { glyph.fill_color = { field: mode.fields[e], transform: mapper }; }));
  }

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
    into.setAttribute("aria-label", "Colours: " + into.textContent);
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

  // Which point is nearest ----------------------------------------------------------------------------------
  // The points in the cells of a grid, made when it is first needed: about two points to a cell.

  const grids = new Map();
  function grid(e) {
    const key = fields[e].join();
    if (grids.has(key)) return grids.get(key);
    const [x, y] = fields[e].map(name => columns[name]);
    const ends = values => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
    const [[x0, x1], [y0, y1]] = [ends(x), ends(y)];
    const side = Math.max(1, Math.round(Math.sqrt(facts.n / 2)));
    const cell = (v, low, high) => Math.min(side - 1, Math.max(0, Math.floor(side * (v - low) / (high - low || 1))));
    const of = i => cell(x[i], x0, x1) + side * cell(y[i], y0, y1);
    const starts = new Uint32Array(side * side + 1), held = new Uint32Array(facts.n);
    for (let i = 0; i < facts.n; i++) starts[of(i) + 1]++;
    for (let c = 0; c < side * side; c++) starts[c + 1] += starts[c];
    const next = starts.slice();
    for (let i = 0; i < facts.n; i++) held[next[of(i)]++] = i;
    grids.set(key, { x, y, side, starts, held, column: v => cell(v, x0, x1), row: v => cell(v, y0, y1) });
    return grids.get(key);
  }

  function nearest(e, px, py, reachX, reachY) {
    const g = grid(e);
    let best = -1, least = 1;
    for (let r = g.row(py - reachY); r <= g.row(py + reachY); r++) {
      const from = g.starts[g.column(px - reachX) + g.side * r], to = g.starts[g.column(px + reachX) + g.side * r + 1];
      for (let c = from; c < to; c++) {
        const i = g.held[c], far = ((g.x[i] - px) / reachX) ** 2 + ((g.y[i] - py) / reachY) ** 2;
        if (far < least) [best, least] = [i, far];
      }
    }
    return best;
  }

  function under(e, event) {
    const picture = pictures[e], { x_range, y_range } = picture;
    const reachX = REACH * Math.abs(x_range.end - x_range.start) / picture.inner_width;
    const reachY = REACH * Math.abs(y_range.end - y_range.start) / picture.inner_height;
    return nearest(e, event.x, event.y, reachX, reachY);
  }

  // One point and its neighbours ----------------------------------------------------------------------------

  function neighbours(i) {
    const found = near.subarray(i * facts.near, (i + 1) * facts.near);
    return [...found].filter(j => j !== i);
  }

  let shown = -1;
  function show(i) {
    if (i === shown) return;
    shown = i;
    const list = i < 0 ? [] : neighbours(i), data = {};
    fields.forEach(([x, y], e) => [x, y].forEach((name, axis) => {
      data[`a${e}_${axis}`] = list.map(() => columns[name][i]);
      data[`b${e}_${axis}`] = list.map(j => columns[name][j]);
    }));
    lines.data = data;
    if (i >= 0) describe(i, list);
  }

  const label = i => facts.labels ? facts.labels[columns.label[i]] : "";
  const titled = i => `Point ${called(i)}` + (label(i) ? `: ${label(i)}` : "");
  const error = (e, i) => short(10 ** columns["e" + e][i]);

  function thumb(i, scale) {
    const { width, height, abreast, rows } = facts.sprite, made = element("div", undefined, { className: "thumb", title: titled(i) });
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", `picture of point ${called(i)}`);
    Object.assign(made.style, {
      width: `${width * scale}px`, height: `${height * scale}px`,
      backgroundSize: `${abreast * width * scale}px ${rows * height * scale}px`,
      backgroundPosition: `${-(i % abreast) * width * scale}px ${-Math.floor(i / abreast) * height * scale}px`,
    });
    return made;
  }
  const enlarged = pixels => Math.max(1, Math.round(pixels / facts.sprite.height));

  function thumbs(list, pixels) {
    const row = element("div", undefined, { className: "thumbs" });
    row.append(...list.map(i => thumb(i, enlarged(pixels))));
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
    if (facts.sprite) into.append(thumbs([i], 72));
    if (facts.shade) into.append(errors(`Its ${facts.shade}`, e => error(e, i)));
    into.append(element("p", `Its true neighbours, nearest first${more}: ${list.map(j => called(j) + (label(j) ? ` (${label(j)})` : "")).join(", ")}`));
    if (facts.sprite) into.append(thumbs(list, 48));
  }

  function tip(e, i, pointer) {
    const box = $("tip");
    box.hidden = i < 0 || !pointer;
    if (box.hidden) return;
    box.replaceChildren(element("p", titled(i)));
    if (facts.sprite) box.append(thumbs([i], 48));
    if (facts.shade) box.append(element("p", `${facts.shade} ${error(e, i)}`));
    const left = pointer.clientX + 16, width = box.offsetWidth;
    box.style.left = `${left + width > innerWidth ? Math.max(0, pointer.clientX - width - 16) : left}px`;
    box.style.top = `${Math.min(pointer.clientY + 12, innerHeight - box.offsetHeight)}px`;
  }

  // Selections ----------------------------------------------------------------------------------------------

  function selected() {
    const into = $("many"), chosen = [...points.selected.indices];
    if (!chosen.length) return into.replaceChildren(element("p", "None yet.", { className: "note" }));
    into.replaceChildren(element("p", `${chosen.length.toLocaleString("en")} of ${facts.n.toLocaleString("en")} points`));
    if (facts.shade) into.append(errors(`Median of their ${facts.shade}`, e => {
      const held = chosen.map(i => columns["e" + e][i]).filter(Number.isFinite).sort((a, b) => a - b);
      return held.length ? short(10 ** held[held.length >> 1]) : "not measured";
    }));
    if (facts.labels) into.append(element("p", counted(chosen)));
    if (facts.sprite) into.append(thumbs(chosen.slice(0, THUMBS), 48));
    const box = element("textarea", undefined, { readOnly: true, value: chosen.map(called).join(", ") });
    box.setAttribute("aria-label", "numbers of the selected points");
    box.addEventListener("focus", () => box.select());
    into.append(box);
  }

  function counted(chosen) {
    const counts = new Map();
    for (const i of chosen) counts.set(label(i), (counts.get(label(i)) ?? 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1]), rest = most.length > 8 ? ` and ${most.length - 8} other labels` : "";
    return most.slice(0, 8).map(([name, count]) => `${name}: ${count}`).join(", ") + rest;
  }

  // What a person does --------------------------------------------------------------------------------------

  let resting = 0;
  function move(picture, right, up, factor) {
    // As bokeh's own tools do: while it moves, fewer points are drawn where there is no graphics card.
    document_.interactive_start(picture);
    clearTimeout(resting);
    resting = setTimeout(() => document_.interactive_stop(), 300);
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
    let pointer = null, asked = false, last = null;
    div.addEventListener("pointermove", event => { pointer = event; });
    div.addEventListener("pointerleave", () => { last = null; show(-1); tip(e, -1); });
    pictures[e].on_event("mousemove", event => {
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
    pictures[e].on_event("tap", event => {
      const i = under(e, event);
      points.selected.indices = i < 0 ? [] : [i];
      if (i >= 0) show(i);
    });
    div.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (KEYS[event.key]) move(pictures[e], ...KEYS[event.key]);
      else if (event.key === "0") pictures[e].reset.emit();
      else return;
      event.preventDefault();
    });
  }

  $("mode").addEventListener("change", event => { mode = facts.modes[event.target.value]; paint(); legend(); });
  $("size").addEventListener("input", event => glyphs.forEach(renderer => each(renderer, glyph => { glyph.size = { value: +event.target.value }; })));
  $("seams")?.addEventListener("change", event => facts.embeddings.forEach((_, e) => sewn(e).forEach(made => { made.visible = event.target.checked; })));
  $("clear").addEventListener("click", () => { points.selected.indices = []; show(-1); });
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
    each(glyphs[e], glyph => { glyph.x = { field: x }; glyph.y = { field: y }; });
    pictures[e].reset.emit();
    shown = -1;
  });
  for (const div of document.querySelectorAll(".picture")) listen(div, +div.dataset.place);
  points.selected.properties.indices.change.connect(selected);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);

  $("size").value = glyphs[0].glyph.size.value;
  theme();
  paint();
  legend();
  points.data = columns;
  // Without a card a part of many points is drawn at first, as while a picture moves, and all half a second later.
  if (!card) document_.interactive_start(pictures[0]);
  $("wait").remove();
  const mark = name => requestAnimationFrame(() => setTimeout(() => { document.documentElement.dataset[name] = Math.round(performance.now()); }));
  const settle = () => document_.interactive_duration() < 0 ? mark("whole") : setTimeout(settle, 20);
  mark("ready");
  requestAnimationFrame(() => setTimeout(settle, 20));
})().catch(error => {
  const wait = document.getElementById("wait");
  if (wait) wait.textContent = `The pictures cannot be drawn here (${error.message}). The numbers below stand.`;
  throw error;
});
