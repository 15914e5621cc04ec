// A timeline of any length on a canvas: only what is in view is drawn, and what shares a pixel is drawn once.
function shortened(value) {
  return String(Number(value.toPrecision(6)));
}
function timelineIndex(data) {
  const first = new Int32Array(data.lanes.length + 1);
  for (const lane of data.lane) first[lane + 1]++;
  for (let lane = 0; lane < data.lanes.length; lane++) first[lane + 1] += first[lane];
  const start = Float64Array.from(data.start), stop = Float64Array.from(data.stop);
  const latest = new Float64Array(stop.length);  // the latest stop of the lane so far: where to begin to look
  let low = Infinity, high = -Infinity;
  for (let lane = 0; lane < data.lanes.length; lane++) {
    for (let at = first[lane]; at < first[lane + 1]; at++) {
      latest[at] = at > first[lane] ? Math.max(latest[at - 1], stop[at]) : stop[at];
      low = Math.min(low, start[at]);
      high = Math.max(high, stop[at]);
    }
  }
  return {first, start, stop, latest, low, high: high > low ? high : low + 1};
}
function firstEndingAt(latest, low, end, time) {
  let step = 1;
  while (low + step < end && latest[low + step - 1] < time) { low += step; step *= 2; }
  for (let high = Math.min(low + step, end); low < high;) {
    const middle = (low + high) >> 1;
    if (latest[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}
function inView(index, lane, from, to, width, found) {
  const end = index.first[lane + 1], scale = width / (to - from);
  let at = firstEndingAt(index.latest, index.first[lane], end, from), drawn = -1;
  while (at < end && index.start[at] <= to) {
    const right = (index.stop[at] - from) * scale;
    const left = Math.floor((index.start[at] - from) * scale);
    if (index.stop[at] < from || (right - left < 1 && left === drawn)) {
      // Whatever ends before the next pixel begins is hidden behind the pixel just drawn.
      at = firstEndingAt(index.latest, at + 1, end, Math.max(from, from + (drawn + 1) / scale));
      continue;
    }
    drawn = left;
    found(at, left, Math.max(1, right - left));
    at++;
  }
}
function shownTimeline(canvas, data) {
  const index = timelineIndex(data), names = 150, row = Math.max(3, Math.min(24, Math.floor(640 / data.lanes.length)));
  let from = index.low, to = index.high, grip = null;
  const status = canvas.nextElementSibling, height = row * data.lanes.length + 26;
  const words = data.colours.map(text => (0xff000000 | parseInt(text.slice(5, 7) + text.slice(3, 5) + text.slice(1, 3), 16)) >>> 0);
  const room = () => Math.max(50, canvas.clientWidth - names);
  function draw() {
    const pen = canvas.getContext("2d"), sharp = devicePixelRatio || 1, width = room();
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    canvas.style.height = `${height}px`;
    canvas.width = (names + width) * sharp;
    canvas.height = height * sharp;
    pen.scale(sharp, sharp);
    pen.font = "12px system-ui, sans-serif";
    // Thousands of bars of a few pixels: set in an image of one row per lane, which is then stretched.
    const rows = new OffscreenCanvas(width, data.lanes.length), narrow = new ImageData(width, data.lanes.length);
    const pixels = new Uint32Array(narrow.data.buffer), wide = data.lanes.map(() => []);
    for (let lane = 0; lane < data.lanes.length; lane++) {
      inView(index, lane, from, to, width, (at, left, size) => {
        if (size >= 4) wide[lane].push([at, left, size]);
        else pixels.fill(words[data.group[at]], lane * width + Math.max(left, 0), lane * width + Math.min(width, left + Math.round(size)));
      });
    }
    rows.getContext("2d").putImageData(narrow, 0, 0);
    pen.imageSmoothingEnabled = false;
    for (let lane = 0; lane < data.lanes.length; lane++) {
      pen.save();
      pen.beginPath();
      pen.rect(names, lane * row, width, row);
      pen.clip();
      pen.drawImage(rows, 0, lane, width, 1, names, lane * row, width, row * 0.85);
      for (const [at, left, size] of wide[lane]) {
        pen.fillStyle = data.colours[data.group[at]];
        pen.fillRect(names + left, lane * row, size, row * 0.85);
        if (size > 60 && row > 10) {
          pen.fillStyle = "white";
          pen.fillText(data.label[at], names + Math.max(left, 0) + 3, lane * row + row * 0.65, size - 6);
        }
      }
      pen.restore();
      pen.fillStyle = ink;
      if (row > 10) pen.fillText(data.lanes[lane], 0, lane * row + row * 0.65, names - 6);
    }
    pen.fillText(shortened(from), names, height - 6);
    const end = `${shortened(to)} ${data.unit}`;
    pen.fillText(end, names + width - pen.measureText(end).width, height - 6);
  }
  function show(low, high) {
    const least = (index.high - index.low) * 1e-9, length = Math.min(Math.max(high - low, least), index.high - index.low);
    from = Math.min(Math.max(low, index.low), index.high - length);
    to = from + length;
    requestAnimationFrame(draw);
  }
  const zoom = (factor, part) => show(from + (to - from) * part * (1 - factor), from + (to - from) * (part + factor * (1 - part)));
  const place = event => event.clientX - canvas.getBoundingClientRect().left - names;
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max(place(event) / room(), 0), 1));
  }, {passive: false});
  canvas.addEventListener("pointerdown", event => { grip = place(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { grip = null; });
  canvas.addEventListener("pointermove", event => {
    if (grip !== null) {
      const moved = (place(event) - grip) * (to - from) / room();
      grip = place(event);
      show(from - moved, to - moved);
      return;
    }
    const lane = Math.floor((event.clientY - canvas.getBoundingClientRect().top) / row);
    if (lane < 0 || lane >= data.lanes.length) return;
    inView(index, lane, from, to, room(), (at, left, size) => {
      if (left <= place(event) && place(event) < left + size)
        status.textContent = `${data.lanes[lane]}: ${data.label[at]} ${data.groups[data.group[at]]}, ${data.start[at]} to ${data.stop[at]} ${data.unit}`;
    });
  });
  canvas.addEventListener("keydown", event => {
    const step = (to - from) / 5;
    const act = {
      ArrowLeft: () => show(from - step, to - step), ArrowRight: () => show(from + step, to + step),
      "+": () => zoom(0.5, 0.5), "=": () => zoom(0.5, 0.5), "-": () => zoom(2, 0.5), Home: () => show(index.low, index.high),
    }[event.key];
    if (act) { event.preventDefault(); act(); status.textContent = `${shortened(from)} to ${shortened(to)} ${data.unit}`; }
  });
  addEventListener("resize", draw);
  draw();
  return draw;
}
