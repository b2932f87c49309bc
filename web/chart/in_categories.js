// SPDX-License-Identifier: Apache-2.0
// Functions that options name, of charts with a line for each category.

import { MARKS, OPEN, STYLE } from './rows.js';
import { behind, hatching, marker, nothing, path, stroke, text, xWhisker } from './shapes.js';
import { cutTo, formatNumber, isNumber, THIN } from './words.js';

// The place of a row within its category: `x` counts from the middle one of the category's `slots`.
function slotY(args, api, row) {
  var height = Math.min(18, (api.size([0, 1])[1] * 0.86) / (args.slots || 1));
  return { centre: api.coord([args.base || 1, row.group])[1] + (row.x || 0) * height, height: height };
}

var inCategories = {
  // A horizontal bar with whisker and number; on a logarithmic axis without a base a marker with a stem. `named`: the
  // width that the name of its series has left of the panel.
  bar: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys,
        place = slotY(args, api, row);
      var y = place.centre + (args.below || 0),
        half = place.height * 0.38,
        ink = args.ink,
        font = Math.min(11, place.height);
      var children = args.named
        ? [
            text(cutTo(row.series, args.named, font + 'px', owner.measure), box.x - 8, y, {
              fill: args.ink2,
              fontSize: font,
              align: 'right',
            }),
          ]
        : [];
      if (!isNumber(row.value)) {
        children.push(text(row.mark ? MARKS[row.mark] : '', box.x + 5, y, { fill: args.ink2, fontSize: font }));
        return { type: 'group', children: children };
      }
      var x = api.coord([row.value, row.group])[0],
        end = x;
      var from = args.base ? api.coord([args.base, row.group])[0] : box.x;
      var open = row.style & OPEN,
        hatched = row.style & STYLE.hatched;
      var whisker = null;
      if (isNumber(row.low) && isNumber(row.high)) {
        var a = owner.log && row.low <= 0 ? box.x : api.coord([row.low, row.group])[0],
          b = api.coord([row.high, row.group])[0];
        if (!owner.log || args.base || !behind(x, a, b, 5)) whisker = xWhisker(a, b, y, Math.min(4, half), ink);
        end = Math.max(end, b);
      }
      if (owner.log && !args.base) {
        children.push(path('M' + box.x + ' ' + y + 'H' + x, stroke(args.colour, 2, args.dash)));
        if (whisker) children.push(whisker);
        children.push(marker(args.marker, x, y, Math.min(5, half), row.style, args.colour, args.paper));
        if (hatched) children.push(path('M' + (x - 3) + ' ' + (y + 3) + 'l6 -6', stroke(args.colour, 1.2)));
      } else {
        var left = Math.min(from, x),
          width = Math.max(1, Math.abs(x - from));
        children.push({
          type: 'rect',
          shape: { x: left, y: y - half, width: width, height: 2 * half },
          style: {
            fill: open ? 'none' : args.colour,
            stroke: args.colour,
            lineWidth: open ? 1.4 : 0,
            lineDash: row.style & STYLE.unranked ? [4, 2.5] : undefined,
          },
        });
        if (hatched) children.push(hatching(left, y - half, width, 2 * half, args.colour));
        else if (args.inner)
          children.push(path('M' + left + ' ' + y + 'h' + width, stroke(open ? args.colour : args.paper, 1.6, [5, 3])));
        if (whisker) children.push(whisker);
      }
      var words = args.percent
        ? formatNumber(100 * row.value) + THIN + '%'
        : formatNumber(row.value) + (args.unit || '');
      if (row.text && !args.below) words += '  ' + row.text;
      var away = owner.log && !args.base ? Math.max(end + 6, x + 10) : Math.max(end, from) + 6;
      children.push(text(words, away, y, { fill: ink, fontSize: font }));
      return { type: 'group', children: children };
    };
  },

  // A marker in a category's row, with a horizontal whisker.
  dot: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        y = slotY(args, api, row).centre;
      if (!isNumber(row.value)) return nothing();
      var x = api.coord([row.value, row.group])[0],
        children = [];
      if (isNumber(row.low) && isNumber(row.high) && row.low > 0) {
        var from = api.coord([row.low, row.group])[0],
          to = api.coord([row.high, row.group])[0];
        if (!behind(x, from, to, 4.5)) children.push(xWhisker(from, to, y, 3, args.ink));
      }
      children.push(marker(args.marker, x, y, 4.5, row.style, args.colour, args.paper));
      if (row.style & STYLE.hatched)
        children.push(path('M' + (x - 3) + ' ' + (y + 3) + 'l6 -6', stroke(args.colour, 1.2)));
      return { type: 'group', children: children };
    };
  },

  // Right of the panel, which targets of a category have no value, and why; where `width` does not suffice their
  // number.
  absentees: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys,
        words = [],
        of = [];
      for (var i = 0; i < owner.rows.length; i++) {
        var other = owner.rows[i];
        if (other.group !== row.group || isNumber(other.value) || !other.mark) continue;
        if (!words.length && i !== params.dataIndex) return nothing();
        words.push(MARKS[other.mark].charAt(0) + THIN + other.series);
        of[other.mark] = (of[other.mark] || []).concat(other.series);
      }
      if (!words.length) return nothing();
      if (args.width && owner.measure(words.join('  '), '11px') > args.width) {
        words = [];
        for (var mark = 1; mark < of.length; mark++)
          if (of[mark])
            words.push(
              MARKS[mark].charAt(0) + THIN + (of[mark].length > 1 ? of[mark].length + ' targets' : of[mark][0])
            );
      }
      var line = args.width ? cutTo(words.join('  '), args.width, '11px', owner.measure) : words.join('  ');
      return text(line, box.x + box.width + 8, api.coord([1, row.group])[1], { fill: args.ink2 });
    };
  },

  // A part of a category's bar, as long as its value, that begins at x; the row's text after it.
  segment: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        from = api.coord([row.x, row.group]),
        to = api.coord([row.x + row.value, row.group])[0];
      var half = Math.min(18, api.size([0, 1])[1] * 0.8) / 2,
        children = [];
      if (row.value > 0)
        children.push({
          type: 'rect',
          shape: { x: from[0], y: from[1] - half, width: Math.max(0.5, to - from[0]), height: 2 * half },
          style: { fill: args.colour, stroke: args.ink2, lineWidth: 0.5 },
        });
      if (row.text) children.push(text(row.text, to + 6, from[1], { fill: args.ink }));
      return { type: 'group', children: children };
    };
  },

  // The text of a row in its category's line, right of the panel.
  beside: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys;
      return row.text
        ? text(row.text, box.x + box.width + 8, api.coord([1, row.group])[1], { fill: args.ink })
        : nothing();
    };
  },

  // A thin line from the least to the greatest value of a category's row.
  span: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        low = Infinity,
        high = -Infinity,
        first = -1;
      for (var i = 0; i < owner.rows.length; i++) {
        if (owner.rows[i].group !== row.group) continue;
        if (first < 0) first = i;
        if (!isNumber(owner.rows[i].value)) continue;
        low = Math.min(low, owner.rows[i].value);
        high = Math.max(high, owner.rows[i].value);
      }
      if (first !== params.dataIndex || !(low < high)) return nothing();
      var a = api.coord([low, row.group]),
        b = api.coord([high, row.group]);
      return path('M' + a[0] + ' ' + a[1] + 'H' + b[0], stroke(args.colour, 1));
    };
  },

  // The text of a row above its category's bar, from the left edge of the panel.
  sentence: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex];
      var y = api.coord([owner.xAxis.min, row.group])[1],
        band = api.size([0, 1])[1];
      return text(row.text || '', params.coordSys.x + 2, y + band / 2 - 22, {
        fill: args.ink,
        fontSize: 12,
        lineHeight: 15,
        verticalAlign: 'bottom',
      });
    };
  },

  // A cell of a table of ratios: the darker, the slower.
  heat: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        p = api.coord([row.series, row.group]),
        size = api.size([1, 1]);
      var width = size[0] - 3,
        height = size[1] - 3,
        shape = { x: p[0] - width / 2, y: p[1] - height / 2, width: width, height: height };
      if (!isNumber(row.value))
        return {
          type: 'group',
          children: [
            { type: 'rect', shape: shape, style: stroke(args.grid, 1) },
            text(row.mark ? MARKS[row.mark] : '', p[0], p[1], { fill: args.ink2, align: 'center' }),
          ],
        };
      var share = Math.min(1, Math.max(0, Math.log(row.value) / Math.LN10));
      var step = Math.round(share * (args.scale.length - 1));
      var hatched = row.style & STYLE.hatched,
        unranked = row.style & STYLE.unranked,
        plain = hatched || unranked;
      var children = [
        {
          type: 'rect',
          shape: shape,
          style: {
            fill: plain ? args.paper : args.scale[step],
            stroke: unranked ? args.ink2 : args.grid,
            lineWidth: 1,
            lineDash: unranked ? [4, 2.5] : undefined,
          },
        },
      ];
      if (hatched) children.push(hatching(shape.x, shape.y, width, height, args.grid));
      children.push(
        text(formatNumber(row.value), p[0], p[1], {
          fill: plain ? args.ink : args.words[step],
          align: 'center',
          fontSize: 12,
          fontWeight: row.style & STYLE.bold ? 'bold' : 'normal',
        })
      );
      return { type: 'group', children: children };
    };
  },
};

export { inCategories };
