"use strict";
// Points as pixels: two hundred thousand dots with smooth edges in some ten milliseconds, on any machine. Bokeh draws a
// dot as a path, which takes a microsecond and more for each; here it is a stamp of a few pixels, blended into an image.

/** A painter of dots at x, y, all of one size, into images; where dots overlap, the last is on top. */
function painter() {
  const HALVES = 0x800080; // what rounds two channels, instead of cutting them off
  const FINE = 4; // number of places of a dot within its pixel, along each axis; each has a stamp
  let wide = new Uint32Array(0); // the image with a margin on all sides, so that no stamp is cut

  /** The pixels of a dot and how much of each it covers, in 256ths, for each of its places within a pixel. */
  function stamps(size, alpha, stride) {
    const reach = Math.ceil(size / 2), found = [];
    for (let place = 0; place < FINE * FINE; place++) {
      const [right, up] = [place % FINE, Math.floor(place / FINE)].map(step => (step + 0.5) / FINE);
      const offsets = [], shares = [];
      for (let v = -reach; v <= reach; v++) for (let u = -reach; u <= reach; u++) {
        const far = Math.hypot(u + 0.5 - right, v + 0.5 - up);
        const share = Math.round(256 * alpha * Math.min(1, Math.max(0, size / 2 + 0.5 - far)));
        if (share > 0) { offsets.push(u + stride * v); shares.push(share); }
      }
      found.push([Int32Array.from(offsets), Int32Array.from(shares)]);
    }
    return found;
  }

  /** Blend the dots that `wanted` has, all without one, into the image. Colors are opaque, 0xAABBGGRR. */
  function blend(view, { x, y }, codes, palette, size, alpha, wanted, value) {
    const { width, height, left, bottom, perX, perY, margin, stride } = view;
    const table = stamps(size, alpha, stride), image = wide, n = x.length;
    for (let i = 0; i < n; i++) {
      if (wanted && wanted[i] !== value) continue;
      const u = (x[i] - left) * perX + margin, v = (y[i] - bottom) * perY + margin;
      // points without coordinates are not painted
      if (!(u > margin / 2 && v > margin / 2 && u < width + 1.5 * margin && v < height + 1.5 * margin)) continue;
      const column = u | 0, line = v | 0, [offsets, shares] = table[((v - line) * FINE | 0) * FINE + ((u - column) * FINE | 0)];
      const color = palette[codes[i]], base = line * stride + column;
      const even = color & 0xff00ff, odd = (color >>> 8) & 0xff00ff;
      for (let s = 0; s < offsets.length; s++) {
        const at = base + offsets[s], share = shares[s], below = image[at], rest = 256 - share;
        // two channels at once, all multiplied by how opaque they are
        image[at] = ((Math.imul(even, share) + Math.imul(below & 0xff00ff, rest) + HALVES) >>> 8) & 0xff00ff
          | (Math.imul(odd, share) + Math.imul((below >>> 8) & 0xff00ff, rest) + HALVES) & 0xff00ff00;
      }
    }
  }

  /** The image without its margin; its channels are not multiplied any more. */
  function cut({ width, height, margin, stride }, into) {
    for (let line = 0; line < height; line++) {
      const from = (line + margin) * stride + margin, to = line * width;
      for (let column = 0; column < width; column++) {
        const pixel = wide[from + column], opaque = pixel >>> 24;
        if (opaque === 0 || opaque === 255) { into[to + column] = pixel; continue; }
        const by = 255 / opaque, red = (pixel & 255) * by, green = (pixel >>> 8 & 255) * by, blue = (pixel >>> 16 & 255) * by;
        into[to + column] = Math.min(255, red + 0.5) | Math.min(255, green + 0.5) << 8 | Math.min(255, blue + 0.5) << 16 | opaque << 24;
      }
    }
  }

  /**
   * Paint what lies from `left` and `bottom` on, `perX` and `perY` pixels to the unit, into an image of width x height,
   * its lowest line first. Layers are painted one on the other, each with an opacity and maybe a part of the points.
   */
  return (view, points, codes, palette, size, layers, into) => {
    const margin = 2 * Math.ceil(size) + 2, stride = view.width + 2 * margin, room = stride * (view.height + 2 * margin);
    const whole = { ...view, margin, stride };
    if (wide.length < room) wide = new Uint32Array(room); else wide.fill(0, 0, room);
    for (const { alpha, wanted, value } of layers) blend(whole, points, codes, palette, size, alpha, wanted, value);
    cut(whole, into);
  };
}
