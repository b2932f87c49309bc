// SPDX-License-Identifier: Apache-2.0
// What charts are drawn of: texts, lines, whiskers, markers.

import { OPEN, STYLE } from './rows.js';
import { FONT } from './words.js';

function text(words, x, y, style) {
  var full = { text: words, x: x, y: y, fontSize: 11, fontFamily: FONT, verticalAlign: 'middle' };
  for (var key in style) full[key] = style[key];
  return { type: 'text', silent: true, style: full };
}

function nothing() {
  return { type: 'group', children: [] };
}

function path(data, style) {
  return { type: 'path', shape: { pathData: data }, style: style };
}

function stroke(colour, width, dash) {
  return { stroke: colour, lineWidth: width, fill: null, lineDash: dash };
}

function xWhisker(from, to, y, cap, colour) {
  return path(
    'M' +
      from +
      ' ' +
      (y - cap) +
      'v' +
      2 * cap +
      'M' +
      from +
      ' ' +
      y +
      'H' +
      to +
      'M' +
      to +
      ' ' +
      (y - cap) +
      'v' +
      2 * cap,
    stroke(colour, 1.2)
  );
}

function yWhisker(x, from, to, cap, colour) {
  return path(
    'M' +
      (x - cap) +
      ' ' +
      from +
      'h' +
      2 * cap +
      'M' +
      x +
      ' ' +
      from +
      'V' +
      to +
      'M' +
      (x - cap) +
      ' ' +
      to +
      'h' +
      2 * cap,
    stroke(colour, 1.2)
  );
}

// Whether a whisker would be hidden by a marker of radius r, but for its caps.
function behind(at, from, to, r) {
  return Math.abs(from - at) <= r && Math.abs(to - at) <= r;
}

// Lines at 45 degrees within a rectangle, 5 px apart.
function hatching(x, y, width, height, colour) {
  var data = '';
  for (var c = 5 - ((x + y) % 5); c < width + height; c += 5) {
    var x1 = Math.max(0, c - height),
      x2 = Math.min(c, width);
    if (x2 - x1 > 0.5) data += 'M' + (x + x1) + ' ' + (y + c - x1) + 'L' + (x + x2) + ' ' + (y + c - x2);
  }
  return path(data || 'M0 0', stroke(colour, 2));
}

var OUTLINES = {
  diamond: function (r) {
    return [
      [0, -1.25 * r],
      [1.25 * r, 0],
      [0, 1.25 * r],
      [-1.25 * r, 0],
    ];
  },
  rect: function (r) {
    return [
      [-0.9 * r, -0.9 * r],
      [0.9 * r, -0.9 * r],
      [0.9 * r, 0.9 * r],
      [-0.9 * r, 0.9 * r],
    ];
  },
  triangle: function (r) {
    return [
      [0, -1.2 * r],
      [1.15 * r, 0.9 * r],
      [-1.15 * r, 0.9 * r],
    ];
  },
  pin: function (r) {
    return [
      [0, 1.2 * r],
      [1.15 * r, -0.9 * r],
      [-1.15 * r, -0.9 * r],
    ];
  },
};

// The marker of a row: filled, an outline, or a dashed outline.
function marker(shape, x, y, r, look, colour, paper) {
  var style = { fill: look & OPEN ? paper : colour, stroke: colour, lineWidth: 1.5 };
  if (look & STYLE.unranked) style.lineDash = [2.2, 1.6];
  if (!OUTLINES[shape]) return { type: 'circle', shape: { cx: x, cy: y, r: r }, style: style };
  return {
    type: 'polygon',
    shape: {
      points: OUTLINES[shape](r).map(function (p) {
        return [x + p[0], y + p[1]];
      }),
    },
    style: style,
  };
}

export { behind, hatching, marker, nothing, path, stroke, text, xWhisker, yWhisker };
