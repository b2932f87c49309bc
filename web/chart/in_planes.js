// SPDX-License-Identifier: Apache-2.0
// Functions that options name, of charts with a number on both axes.

import { MARKS, STYLE } from './rows.js';
import { behind, marker, nothing, path, stroke, text, xWhisker, yWhisker } from './shapes.js';
import { cutTo, isNumber, THIN } from './words.js';

// Heights that are as near as possible to the given ascending ones, but `gap` apart, from `top` to `bottom`.
function spread(heights, gap, top, bottom) {
  var groups = [],
    places = [];
  heights.forEach(function (height, i) {
    groups.push({ sum: height - i * gap, count: 1 });
    for (var last = groups.length - 1; last > 0; last--) {
      var own = groups[last],
        before = groups[last - 1];
      if (before.sum / before.count <= own.sum / own.count) break;
      groups.splice(last - 1, 2, { sum: before.sum + own.sum, count: before.count + own.count });
    }
  });
  groups.forEach(function (group) {
    var first = Math.max(top, Math.min(bottom - gap * (heights.length - 1), group.sum / group.count));
    for (var k = 0; k < group.count; k++) places.push(first + gap * places.length);
  });
  return places;
}

// Where the other rows of the panel are: points with their intervals of x, and curves from each point to the next one.
function boxesOf(owner, api) {
  var boxes = [];
  owner.panel.forEach(function (row, i) {
    if (!isNumber(row.value) || owner.rows.indexOf(row) >= 0) return;
    var next = owner.panel[i + 1],
      p = api.coord([row.x, row.value]),
      q = p,
      size = row.series === row.group ? 1 : 5;
    if (next && next.series === row.series && next.group === row.group) q = api.coord([next.x, next.value]);
    var from = isNumber(row.low) ? api.coord([row.low, row.value])[0] : p[0],
      to = isNumber(row.high) ? api.coord([row.high, row.value])[0] : q[0];
    boxes.push({
      series: row.series,
      left: Math.min(from, p[0], q[0]) - size,
      right: Math.max(to, p[0], q[0]) + size,
      top: Math.min(p[1], q[1]) - size,
      bottom: Math.max(p[1], q[1]) + size,
    });
  });
  return boxes;
}

// A point with its interval: left, right, top, bottom.
function aroundPoint(row, api) {
  var low = api.coord([row.x, isNumber(row.low) ? row.low : row.value]);
  var high = api.coord([row.x, isNumber(row.high) ? row.high : row.value]);
  return [low[0] - 5, low[0] + 5, high[1] - 4, low[1] + 4];
}

// Whether a line of text meets none of the boxes.
function meetsNone(taken, left, width, y) {
  return taken.every(function (other) {
    return left > other[1] + 3 || left + width + 3 < other[0] || y - 7 > other[3] || y + 7 < other[2];
  });
}

var inPlanes = {
  // A marker at x and value, with the interval of the value; `across`: of x. `shift`: pixels to the right, or across
  // down, so that points of several targets do not hide each other.
  point: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex];
      if (!isNumber(row.value)) return nothing();
      var p = api.coord([row.x, row.value]),
        children = [];
      p[args.across ? 1 : 0] += args.shift || 0;
      if (isNumber(row.low) && isNumber(row.high) && (args.across || !owner.logY || row.low > 0) && !args.sized) {
        var at = args.across ? 0 : 1,
          size = args.size || 4;
        var from = api.coord(args.across ? [row.low, row.value] : [row.x, row.low])[at];
        var to = api.coord(args.across ? [row.high, row.value] : [row.x, row.high])[at];
        if (!behind(p[at], from, to, size))
          children.push(args.across ? xWhisker(from, to, p[1], 4, args.ink) : yWhisker(p[0], from, to, 4, args.ink));
      }
      if (row.style & STYLE.ringed)
        children.push({ type: 'circle', shape: { cx: p[0], cy: p[1], r: 9 }, style: stroke(args.ink, 1.2) });
      children.push(
        marker(args.marker, p[0], p[1], args.sized ? row.high : args.size || 4, row.style, args.colour, args.paper)
      );
      if (row.style & STYLE.hatched)
        children.push(path('M' + (p[0] - 3) + ' ' + (p[1] + 3) + 'l6 -6', stroke(args.colour, 1.2)));
      return { type: 'group', children: children };
    };
  },

  // Above the x axis, the marks of rows without a value, one over the other, where no point is. `once`: each mark once
  // at an x.
  absent: function (args, owner) {
    var taken = [];
    return function (params, api) {
      if (params.dataIndex === 0) taken = [];
      var row = owner.rows[params.dataIndex],
        box = params.coordSys;
      if (isNumber(row.value) || !row.mark || !isNumber(row.x)) return nothing();
      var x = api.coord([row.x, owner.yAxis.min])[0],
        y = box.y + box.height - 9,
        glyph = MARKS[row.mark].charAt(0);
      var points = owner.panel.filter(function (other) {
        return isNumber(other.value) && other.x === row.x;
      });
      points = points.map(function (other) {
        return api.coord([other.x, other.value])[1];
      });
      for (var level = 0; level < 12; level++, y -= 13) {
        var free = true;
        for (var i = 0; i < taken.length; i++) {
          if (args.once && taken[i][2] === glyph && Math.abs(taken[i][0] - x) < 1) return nothing();
          if (Math.abs(taken[i][0] - x) < 14 && Math.abs(taken[i][1] - y) < 12) free = false;
        }
        for (var k = 0; k < points.length; k++) if (Math.abs(points[k] - y) < 11) free = false;
        if (!free) continue;
        taken.push([x, y, glyph]);
        return text(glyph, x, y, { fill: args.ink2, align: 'center', fontSize: 13, fontWeight: 'bold' });
      }
      return nothing();
    };
  },

  // The text of a row beside its point, where no other text of the series is. `always`: there in any case; `paper`:
  // lines do not show through; `shift`: how far from the row's x its points may stand. `left`: of points along a rising
  // curve, the highest first: left of it or below its right side, with a line to the point if others are between.
  name: function (args, owner) {
    var taken = [],
      places = [];
    function placesOf(row, p, width, api) {
      var shift = args.shift || 0,
        away = args.sized ? row.high + 4 + shift : 8;
      if (!args.left)
        return [
          [p[0] + away, p[1]],
          [p[0] - away + 2 - width, p[1]],
          [p[0] - width / 2, p[1] - away - 5],
          [p[0] - width / 2, p[1] + away + 5],
        ];
      var begin = isNumber(row.low) ? Math.min(p[0], api.coord([row.low, row.value])[0]) : p[0];
      var end = isNumber(row.high) ? Math.max(p[0], api.coord([row.high, row.value])[0]) : p[0];
      var all = [
        [begin - away + 2 - width, p[1]],
        [end + away, p[1]],
      ];
      [13, 26, 39, 52].forEach(function (down) {
        all.push([p[0] + away - 2 + (down > 13 ? 8 : 0), p[1] + down, down > 13]);
      });
      return all;
    }
    function isFree(x, y, width, box, api) {
      var shift = args.shift || 0;
      var free = x > box.x + 3 && x + width < box.x + box.width && y - 7 > box.y && y + 7 < box.y + box.height;
      for (var k = 0; k < owner.panel.length && args.apart; k++) {
        var q = isNumber(owner.panel[k].value) ? api.coord([owner.panel[k].x, owner.panel[k].value]) : [-99, -99];
        if (Math.abs(q[1] - y) < 12 && x < q[0] + 6 + shift && q[0] - 6 - shift < x + width) free = false;
      }
      for (var j = 0; j < taken.length; j++)
        if (x < taken[j][0] + taken[j][2] && taken[j][0] < x + width && Math.abs(y - taken[j][1]) < 14) free = false;
      return free;
    }
    function setPlace(index, box, api) {
      var row = owner.rows[index];
      if (!isNumber(row.value) || !row.text) return;
      var p = api.coord([row.x, row.value]),
        width = owner.measure(row.text, '11px') + 4,
        all = placesOf(row, p, width, api);
      for (var i = 0; i < all.length && !places[index]; i++) {
        if (!isFree(all[i][0], all[i][1], width, box, api)) continue;
        taken.push([all[i][0], all[i][1], width]);
        places[index] = all[i];
      }
      if (args.always) places[index] = places[index] || all[0];
    }
    return function (params, api) {
      if (params.dataIndex === 0) {
        taken = [];
        places = [];
        for (var i = 0; i < owner.rows.length; i++)
          setPlace(args.left ? owner.rows.length - 1 - i : i, params.coordSys, api);
      }
      var row = owner.rows[params.dataIndex],
        place = places[params.dataIndex];
      if (!place) return nothing();
      var words = text(row.text, place[0], place[1], {
        fill: args.ink,
        stroke: args.paper,
        lineWidth: args.paper ? 3 : 0,
      });
      if (!place[2]) return words;
      var p = api.coord([row.x, row.value]);
      return {
        type: 'group',
        silent: true,
        children: [
          path('M' + (p[0] + 3) + ' ' + (p[1] + 5) + 'L' + (place[0] - 2) + ' ' + place[1], stroke(args.ink, 0.7)),
          words,
        ],
      };
    };
  },

  // The name of a curve beside it: at the row's height, or the nearest one where it lies on no curve, point or other
  // name, that of the first curve rather left of it, the others right; without room there, right of other curves, the
  // nearest first, with a line to its own. The series of the curve's rows is the row's group.
  beside_curve: function (args, owner) {
    var taken = [];
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys,
        width = owner.measure(row.text, '11px');
      if (params.dataIndex === 0) taken = boxesOf(owner, api);
      var at = api.coord([row.x, row.value]),
        places = [],
        far = [];
      function isAt(y) {
        return function (other) {
          return other.top < y + 7 && y - 7 < other.bottom;
        };
      }
      function rightOf(boxes) {
        return (
          Math.max.apply(
            null,
            boxes.map(function (other) {
              return other.right;
            })
          ) + 7
        );
      }
      function hasRoom(x, y) {
        return x > box.x + 3 && x + width < box.x + box.width && y - 7 > box.y && y + 7 < box.y + box.height;
      }
      for (var away = 0; away < box.height; away += 6) {
        [at[1] - away, at[1] + away].forEach(function (y) {
          var own = taken.filter(function (other) {
            return other.series === row.group && isAt(y)(other);
          });
          if (!own.length) return;
          var left =
            Math.min.apply(
              null,
              own.map(function (other) {
                return other.left;
              })
            ) -
            7 -
            width;
          var right = rightOf(own),
            middle = (left + 7 + width + right - 7) / 2;
          (params.dataIndex === 0 ? [left, right] : [right, left]).forEach(function (x) {
            if (hasRoom(x, y)) places.push([x, y]);
          });
          taken
            .filter(isAt(y))
            .map(function (other) {
              return other.right + 12;
            })
            .sort(function (a, b) {
              return a - b;
            })
            .forEach(function (beyond) {
              if (beyond > right && hasRoom(beyond, y)) far.push([beyond, y, middle]);
            });
        });
      }
      var free = places.concat(far).filter(function (p) {
        return taken.every(function (other) {
          return (
            p[0] + width + 3 < other.left || other.right < p[0] - 3 || p[1] + 7 < other.top || other.bottom < p[1] - 7
          );
        });
      });
      var place = free[0] || places[0] || [at[0] + 7, at[1]];
      taken.push({ left: place[0], right: place[0] + width, top: place[1] - 6, bottom: place[1] + 6 });
      return {
        type: 'group',
        silent: true,
        children: [
          place.length > 2
            ? path('M' + place[2] + ' ' + place[1] + 'H' + (place[0] - 3), stroke(args.ink2, 1))
            : nothing(),
          text(row.text, place[0], place[1], { fill: args.ink, stroke: args.paper, lineWidth: 3 }),
        ],
      };
    };
  },

  // The name of a line at its end, apart from those of lines that end at the same x and from lines that go on; in the
  // place of a line that has no value, its mark and name. The rows of lines have a group. `width`: of the longest name.
  line_end: function (args, owner) {
    return function (params, api) {
      if (params.dataIndex !== 0) return nothing();
      var box = params.coordSys,
        edge = box.x + box.width,
        lines = {};
      owner.panel.forEach(function (row) {
        if (!row.group || !isNumber(row.x)) return;
        if (!lines[row.series]) lines[row.series] = { mark: MARKS[row.mark || 0].charAt(0), points: [] };
        if (isNumber(row.value)) lines[row.series].points.push(api.coord([row.x, row.value]));
      });
      function endOf(name) {
        var points = lines[name].points,
          point = points[points.length - 1];
        return {
          name: name,
          point: point,
          outside: !point || edge - point[0] < 40,
          y: point ? point[1] : box.y + box.height - 9,
        };
      }
      var own = endOf(owner.rows[0].series);
      var ends = Object.keys(lines)
        .map(endOf)
        .filter(function (end) {
          return end.outside ? own.outside : !own.outside && end.point[0] === own.point[0];
        })
        .sort(function (a, b) {
          return a.y - b.y;
        });
      var heights = spread(
        ends.map(function (end) {
          return end.y;
        }),
        13,
        box.y + 4,
        box.y + box.height - 5
      );
      var x = own.outside ? edge + 4 : own.point[0] + 10;
      // Whether no name meets a line that goes on, if all names move by so much.
      function isFree(away) {
        return Object.keys(lines).every(function (name) {
          return lines[name].points.every(function (p, i) {
            var q = lines[name].points[i + 1];
            return (
              !q ||
              [x, x + 20, x + 40].every(function (at) {
                var y = p[1] + ((q[1] - p[1]) * (at - p[0])) / (q[0] - p[0]);
                return (
                  at < p[0] ||
                  at > q[0] ||
                  heights.every(function (height) {
                    return Math.abs(y - height - away) > 8;
                  })
                );
              })
            );
          });
        });
      }
      var y =
        heights[
          ends
            .map(function (end) {
              return end.name;
            })
            .indexOf(own.name)
        ] + ([0, -14, 14, -28, 28].filter(isFree)[0] || 0);
      var words = cutTo(
        own.point ? own.name : lines[own.name].mark + THIN + own.name,
        args.width,
        '11px',
        owner.measure
      );
      return {
        type: 'group',
        silent: true,
        children: [
          own.point && Math.abs(y - own.y) > 2
            ? path('M' + (own.point[0] + 6) + ' ' + own.y + 'L' + (x - 2) + ' ' + y, stroke(args.colour, 1))
            : nothing(),
          text(words, x, y, { fill: own.point ? args.ink : args.ink2, stroke: args.paper, lineWidth: 3 }),
        ],
      };
    };
  },

  // The area between low and high from each row to the next one.
  band: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        next = owner.rows[params.dataIndex + 1];
      if (!next || !isNumber(row.low) || !isNumber(next.low)) return nothing();
      return {
        type: 'polygon',
        silent: true,
        shape: {
          points: [
            api.coord([row.x, row.low]),
            api.coord([next.x, next.low]),
            api.coord([next.x, next.high]),
            api.coord([row.x, row.high]),
          ],
        },
        style: { fill: args.colour, opacity: args.opacity || 0.25 },
      };
    };
  },

  // The part of the x axis from low to high.
  region: function (args, owner) {
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys;
      var a = api.coord([row.low, owner.yAxis.max])[0],
        b = api.coord([row.high, owner.yAxis.max])[0];
      return {
        type: 'group',
        silent: true,
        children: [
          {
            type: 'rect',
            shape: { x: a, y: box.y, width: b - a, height: box.height },
            style: { fill: args.colour, opacity: 0.6 },
          },
          text(row.text || '', a + 6, box.y + 10, { fill: args.ink2 }),
        ],
      };
    };
  },

  // The part of the x axis from low to high, some pixels wider on both sides, behind everything. The row's text stands
  // in the lower half of the panel, as far down as there is neither another one, nor a point, nor a mark; events have
  // the upper half then.
  incident: function (args, owner) {
    var taken = [];
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys,
        bottom = box.y + box.height;
      var a = Math.max(box.x, api.coord([row.low, owner.yAxis.max])[0] - 7),
        b = Math.min(box.x + box.width, api.coord([row.high, owner.yAxis.max])[0] + 7);
      if (params.dataIndex === 0) {
        taken = owner.panel
          .filter(function (other) {
            return isNumber(other.value) || other.mark;
          })
          .map(function (other) {
            if (!isNumber(other.value)) {
              var at = api.coord([other.x, owner.yAxis.max])[0];
              return [at - 9, at + 9, bottom - 45, bottom];
            }
            return aroundPoint(other, api);
          });
      }
      var words = cutTo(row.text || '', box.width - 8, '11px', owner.measure),
        width = owner.measure(words, '11px');
      var left = Math.max(box.x + 3, Math.min(a + 3, box.x + box.width - 3 - width));
      var children = [
        {
          type: 'rect',
          shape: { x: a, y: box.y, width: b - a, height: box.height },
          style: { fill: args.colour, opacity: 0.22 },
        },
      ];
      for (var y = bottom - 9; y > box.y + box.height / 2 + 7; y -= 13) {
        if (!meetsNone(taken, left, width, y)) continue;
        taken.push([left, left + width, y - 6, y + 6]);
        children.push(text(words, left, y, { fill: args.ink2 }));
        break;
      }
      return { type: 'group', silent: true, children: children };
    };
  },

  // A line through the panel at x or at y.
  rule: function (args, owner) {
    return function (params, api) {
      var box = params.coordSys;
      if (isNumber(args.x)) {
        var x = api.coord([args.x, owner.yAxis.data ? owner.yAxis.data[0] : owner.yAxis.min])[0];
        return path('M' + x + ' ' + box.y + 'v' + box.height, stroke(args.colour, 1, args.dash));
      }
      var y = api.coord([owner.xAxis.min, args.y])[1];
      return path('M' + box.x + ' ' + y + 'h' + box.width, stroke(args.colour, 1, args.dash));
    };
  },

  // A dotted line through the panel with the row's text, right of it, or left of it where the picture ends: as far up
  // as there is neither another text nor a point with its interval.
  event: function (args, owner) {
    var taken = [];
    return function (params, api) {
      var row = owner.rows[params.dataIndex],
        box = params.coordSys,
        x = api.coord([row.x, owner.yAxis.max])[0];
      if (params.dataIndex === 0) {
        taken = owner.panel
          .filter(function (other) {
            return isNumber(other.value);
          })
          .map(function (other) {
            return aroundPoint(other, api);
          });
      }
      var words = cutTo(row.text || '', box.width - 4, '11px', owner.measure),
        width = owner.measure(words, '11px');
      var left = x + 4 + width > box.x + box.width + 32 ? Math.max(box.x + 2, x - 4 - width) : x + 4,
        children = [];
      children.push(path('M' + x + ' ' + box.y + 'v' + box.height, stroke(args.colour, 1, [2, 3])));
      var last =
        box.y +
        (owner.panel.some(function (other) {
          return other.series === 'incidents';
        })
          ? box.height / 2 - 7
          : box.height - 6);
      for (var y = box.y + 9; y < last; y += 13) {
        if (!meetsNone(taken, left, width, y)) continue;
        taken.push([left, left + width, y - 6, y + 6]);
        children.push(text(words, left, y, { fill: args.ink2 }));
        break;
      }
      return { type: 'group', children: children };
    };
  },
};

export { inPlanes };
