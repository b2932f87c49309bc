// SPDX-License-Identifier: Apache-2.0
// Turns a chart of src/chart into an option that ECharts accepts, in the page and in the program (docs/charts.md).
//
// Only ES5: Duktape runs it. A row of `dataset.source` has the columns panel, group, series, x, value, low, high, mark, style, text.
//   {"$colour": NAME}               the theme's colour
//   {"$fn": NAME, …}                a function of `functions` below; the other keys are its arguments
//   series.$rows {panel, series}    the rows with these values become the data of the series
//   axis.$categories {panel}        the groups of the rows with that panel, in order
//   axis.$range {columns, panels, series, scale: linear | log | auto | time | share, zero, include, count, each}  limits and ticks;
//     `unit` is that of its values, for tooltips

var COLUMNS = ['panel', 'group', 'series', 'x', 'value', 'low', 'high', 'mark', 'style', 'text'];
var MARKS = ['', '≠ wrong', '✕ failed', '– unsupported', '∅ unavailable', '… skipped', '? unverified', '∅ no common cell', '· not measured'];
var STYLE = {hollow: 1, hatched: 2, bold: 4, ringed: 8, unranked: 16};
var OPEN = STYLE.hollow | STYLE.hatched | STYLE.unranked;  // only an outline
var THIN = '\u2009';
var FONT = 'DejaVu Sans, Verdana, sans-serif';  // without quotes: ECharts writes it into attributes

function isNumber(value) {
  return typeof value === 'number' && isFinite(value);
}

function grouped(text) {
  var parts = text.split('.');
  if (parts[0].replace('-', '').length > 4) parts[0] = parts[0].replace(/(\d)(?=(\d{3})+$)/g, '$1' + THIN);
  return parts.join('.');
}

/** Three significant digits, thousands apart: "0.0123", "8.00", "10 432". The same as number_words() of src/chart. */
function formatNumber(value) {
  if (!isNumber(value)) return '–';
  if (value === 0) return '0';
  var size = Math.abs(value), power = 1, exponent = 0;
  for (; size >= 1 && size / power >= 10; exponent++) power *= 10;
  for (; size < 1 && size * power < 1; exponent--) power *= 10;
  var sign = value < 0 ? '-' : '';
  if (exponent >= 2) return sign + grouped(String(Math.floor(size + 0.5)));
  var digits = Math.floor((exponent < 0 ? size * power : size / power) * 100 + 0.5);
  if (digits >= 1000) {
    digits = 100;
    exponent++;
    if (exponent === 2) return sign + '100';
  }
  var text = String(digits);
  if (exponent >= 0) return sign + text.slice(0, exponent + 1) + '.' + text.slice(exponent + 1);
  return sign + '0.' + new Array(-exponent).join('0') + text;
}

/** As few digits as a tick needs: "0.5", "20", "10 000". */
function formatTick(value) {
  return grouped(String(parseFloat(value.toPrecision(6))));
}

/** A count in few characters: "20 M". */
function formatCount(value) {
  var units = ['', 'k', 'M', 'G', 'T'], at = 0;
  for (; value >= 1000 && at < 4; at++) value /= 1000;
  return formatTick(value) + (units[at] ? THIN + units[at] : '');
}

function pad(number) {
  return (number < 10 ? '0' : '') + number;
}

function formatTime(seconds, withHours) {
  var date = new Date(seconds * 1000);
  var day = date.getUTCFullYear() + '-' + pad(date.getUTCMonth() + 1) + '-' + pad(date.getUTCDate());
  return withHours ? day.slice(5) + ' ' + pad(date.getUTCHours()) + ':' + pad(date.getUTCMinutes()) : day;
}

function rowsOf(dataset) {
  var source = dataset && dataset.source || [];
  var rows = [];
  for (var i = 1; i < source.length; i++) {
    var row = {};
    for (var j = 0; j < COLUMNS.length; j++) row[COLUMNS[j]] = source[i][j];
    rows.push(row);
  }
  return rows;
}

// ----- axes -----------------------------------------------------------------------------------------------------------

function extent(rows, range) {
  var low = Infinity, high = -Infinity;
  function take(value) {
    if (!isNumber(value) || (range.scale === 'log' && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  for (var i = 0; i < rows.length; i++) {
    if (range.panels && range.panels.indexOf(rows[i].panel) < 0) continue;
    if (range.series && rows[i].series !== range.series) continue;
    for (var j = 0; j < range.columns.length; j++) take(rows[i][range.columns[j]]);
  }
  (range.include || []).forEach(take);
  return low <= high ? [low, high] : null;
}

function niceStep(span, count) {
  var raw = span / count;
  var power = Math.pow(10, Math.floor(Math.log(raw) / Math.LN10 + 1e-9));
  var unit = raw / power;
  return power * (unit <= 1.0001 ? 1 : unit <= 2.0001 ? 2 : unit <= 5.0001 ? 5 : 10);
}

function rounded(value) {
  return parseFloat(value.toPrecision(12));
}

function linearTicks(low, high, zero, count) {
  if (zero) {
    low = Math.min(0, low);
    high = Math.max(0, high);
  }
  if (high - low < 1e-9 * Math.max(Math.abs(high), 1e-12)) {
    var by = Math.abs(high) > 0 ? Math.abs(high) * 0.05 : 1;
    if (zero && high > 0) low = 0;
    else low -= by;
    high += by;
  }
  var step = niceStep(high - low, count);
  var first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  var ticks = [];
  for (var i = first; i <= last; i++) ticks.push(rounded(i * step));
  return ticks;
}

// 1-2-5; over more than three decades powers of ten; equal distances if the limits are near each other.
function logTicks(low, high) {
  if (high / low < 4) {
    var least = Math.sqrt(1.2), middle = Math.sqrt(low * high);  // a small difference is not blown up
    var near = linearTicks(Math.min(low, middle / least), Math.max(high, middle * least), false, 4);
    if (near[0] > 0) return {ticks: near, limits: [near[0], near[near.length - 1]]};
  }
  var all = [];
  var from = Math.floor(Math.log(low) / Math.LN10 - 1e-9), to = Math.ceil(Math.log(high) / Math.LN10 + 1e-9);
  for (var power = from; power <= to; power++)
    [1, 2, 5].forEach(function(unit) { all.push(rounded(unit * Math.pow(10, power))); });
  var first = 0, last = all.length - 1;
  while (first + 1 < all.length && all[first + 1] <= low * 1.0000001) first++;
  while (last > 0 && all[last - 1] >= high * 0.9999999) last--;
  if (first === last) {
    if (last + 1 < all.length) last++;
    else first--;
  }
  var ticks = all.slice(first, last + 1);
  var limits = [ticks[0], ticks[ticks.length - 1]];
  if (ticks.length > 9) {
    var tens = ticks.filter(function(tick) { var power = Math.log(tick) / Math.LN10; return Math.abs(power - Math.round(power)) < 1e-9; });
    if (tens.length >= 2) ticks = tens;
  }
  return {ticks: ticks, limits: limits};
}

var TIME_STEPS = [60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 259200, 604800, 1209600, 2592000, 7776000, 31536000];

function timeTicks(low, high) {
  if (high - low < 120) {
    low -= 60;
    high += 60;
  }
  var step = TIME_STEPS[TIME_STEPS.length - 1];
  for (var i = TIME_STEPS.length - 1; i >= 0; i--)
    if ((high - low) / TIME_STEPS[i] <= 5) step = TIME_STEPS[i];
  var ticks = [];
  for (var at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
  var margin = (high - low) * 0.03;
  return {ticks: ticks, limits: [low - margin, high + margin], step: step};
}

function setRange(axis, rows) {
  var range = axis.$range;
  var span = extent(rows, range) || (range.scale === 'log' ? [1, 10] : [0, 1]);
  var scale = range.scale;
  if (scale === 'auto') scale = span[0] > 0 && span[1] / span[0] >= 30 ? 'log' : 'linear';
  var ticks, limits, format = formatTick;
  if (scale === 'log') {
    var log = logTicks(span[0], span[1]);
    ticks = range.ticks || log.ticks;
    limits = log.limits;
  } else if (scale === 'time') {
    var time = timeTicks(span[0], span[1]);
    ticks = time.ticks;
    limits = time.limits;
    format = function(value) { return formatTime(value, time.step < 86400); };
  } else {
    ticks = linearTicks(span[0], span[1], range.zero, range.count || 5);
    limits = [ticks[0], ticks[ticks.length - 1]];
    if (scale === 'share') format = function(value) { return formatTick(value * 100) + (THIN + '%'); };
  }
  if (range.count_words) format = formatCount;
  if (range.each) {  // a tick at each of the values, such as batch sizes
    var seen = {}, values = [];
    rows.forEach(function(row) {
      var value = row[range.columns[0]];
      if (range.panels && range.panels.indexOf(row.panel) < 0 || !isNumber(value) || seen[value]) return;
      seen[value] = true;
      values.push(value);
    });
    values.sort(function(a, b) { return a - b; });
    if (values.length && values.length <= 8) {
      ticks = values;
      var room = values.length > 1 ? Math.pow(values[values.length - 1] / values[0], 0.06) : 1.5;
      limits = [values[0] / room, values[values.length - 1] * room];
    }
  }
  axis.type = scale === 'log' ? 'log' : 'value';
  axis.min = limits[0];
  axis.max = limits[1];
  axis.axisLabel = axis.axisLabel || {};
  axis.axisLabel.customValues = ticks;
  axis.axisLabel.formatter = format;
  axis.axisTick = axis.axisTick || {};
  axis.axisTick.customValues = ticks;
  axis.splitLine = axis.splitLine || {};
  axis.splitLine.customValues = ticks;
  delete axis.$range;
}

function setCategories(axis, rows) {
  var wanted = axis.$categories, seen = {}, names = [];
  rows.forEach(function(row) {
    var name = row[wanted.column || 'group'];
    if (row.panel !== wanted.panel || !name || seen['_' + name]) return;
    seen['_' + name] = true;
    names.push(name);
  });
  axis.data = names;
  delete axis.$categories;
}

// ----- shapes ---------------------------------------------------------------------------------------------------------

function text(words, x, y, style) {
  var full = {text: words, x: x, y: y, fontSize: 11, fontFamily: FONT, verticalAlign: 'middle'};
  for (var key in style) full[key] = style[key];
  return {type: 'text', silent: true, style: full};
}

function nothing() {
  return {type: 'group', children: []};
}

// The words, with "…" in their middle if they would be wider.
function cutTo(words, width, font, measure) {
  if (measure(words, font) <= width) return words;
  for (var kept = words.length - 1; kept > 1; kept--) {
    var front = Math.ceil(kept / 2), cut = words.slice(0, front) + '…' + words.slice(words.length - (kept - front));
    if (measure(cut, font) <= width) return cut;
  }
  return '…';
}

function path(data, style) {
  return {type: 'path', shape: {pathData: data}, style: style};
}

function stroke(colour, width, dash) {
  return {stroke: colour, lineWidth: width, fill: null, lineDash: dash};
}

function xWhisker(from, to, y, cap, colour) {
  return path('M' + from + ' ' + (y - cap) + 'v' + 2 * cap + 'M' + from + ' ' + y + 'H' + to + 'M' + to + ' ' + (y - cap) + 'v' + 2 * cap,
              stroke(colour, 1.2));
}

function yWhisker(x, from, to, cap, colour) {
  return path('M' + (x - cap) + ' ' + from + 'h' + 2 * cap + 'M' + x + ' ' + from + 'V' + to + 'M' + (x - cap) + ' ' + to + 'h' + 2 * cap,
              stroke(colour, 1.2));
}

// Whether a whisker would be hidden by a marker of radius r, but for its caps.
function behind(at, from, to, r) {
  return Math.abs(from - at) <= r && Math.abs(to - at) <= r;
}

// Lines at 45 degrees within a rectangle, 5 px apart.
function hatching(x, y, width, height, colour) {
  var data = '';
  for (var c = 5 - (x + y) % 5; c < width + height; c += 5) {
    var x1 = Math.max(0, c - height), x2 = Math.min(c, width);
    if (x2 - x1 > 0.5) data += 'M' + (x + x1) + ' ' + (y + c - x1) + 'L' + (x + x2) + ' ' + (y + c - x2);
  }
  return path(data || 'M0 0', stroke(colour, 2));
}

var OUTLINES = {
  diamond: function(r) { return [[0, -1.25 * r], [1.25 * r, 0], [0, 1.25 * r], [-1.25 * r, 0]]; },
  rect: function(r) { return [[-0.9 * r, -0.9 * r], [0.9 * r, -0.9 * r], [0.9 * r, 0.9 * r], [-0.9 * r, 0.9 * r]]; },
  triangle: function(r) { return [[0, -1.2 * r], [1.15 * r, 0.9 * r], [-1.15 * r, 0.9 * r]]; },
  pin: function(r) { return [[0, 1.2 * r], [1.15 * r, -0.9 * r], [-1.15 * r, -0.9 * r]]; }
};

// The marker of a row: filled, an outline, or a dashed outline.
function marker(shape, x, y, r, look, colour, paper) {
  var style = {fill: look & OPEN ? paper : colour, stroke: colour, lineWidth: 1.5};
  if (look & STYLE.unranked) style.lineDash = [2.2, 1.6];
  if (!OUTLINES[shape]) return {type: 'circle', shape: {cx: x, cy: y, r: r}, style: style};
  return {
    type: 'polygon',
    shape: {points: OUTLINES[shape](r).map(function(p) { return [x + p[0], y + p[1]]; })},
    style: style
  };
}

// ----- functions that options name ------------------------------------------------------------------------------------------

// The place of a row within its category: `x` counts from the middle one of the category's `slots`.
function slotY(args, api, row) {
  var height = Math.min(18, api.size([0, 1])[1] * 0.86 / (args.slots || 1));
  return {centre: api.coord([args.base || 1, row.group])[1] + (row.x || 0) * height, height: height};
}

var functions = {
  // A horizontal bar with whisker and number; on a logarithmic axis without a base a marker with a stem.
  bar: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], box = params.coordSys, place = slotY(args, api, row);
      var y = place.centre + (args.below || 0), half = place.height * 0.38, ink = args.ink, font = Math.min(11, place.height);
      if (!isNumber(row.value))
        return text(row.mark ? MARKS[row.mark] : '', box.x + 5, y, {fill: args.ink2, fontSize: font});
      var x = api.coord([row.value, row.group])[0], children = [], end = x;
      var from = args.base ? api.coord([args.base, row.group])[0] : box.x;
      var open = row.style & OPEN, hatched = row.style & STYLE.hatched;
      var whisker = null;
      if (isNumber(row.low) && isNumber(row.high)) {
        var a = owner.log && row.low <= 0 ? box.x : api.coord([row.low, row.group])[0], b = api.coord([row.high, row.group])[0];
        if (!owner.log || args.base || !behind(x, a, b, 5)) whisker = xWhisker(a, b, y, Math.min(4, half), ink);
        end = Math.max(end, b);
      }
      if (owner.log && !args.base) {
        children.push(path('M' + box.x + ' ' + y + 'H' + x, stroke(args.colour, 2, args.dash)));
        if (whisker) children.push(whisker);
        children.push(marker(args.marker, x, y, Math.min(5, half), row.style, args.colour, args.paper));
        if (hatched) children.push(path('M' + (x - 3) + ' ' + (y + 3) + 'l6 -6', stroke(args.colour, 1.2)));
      } else {
        var left = Math.min(from, x), width = Math.max(1, Math.abs(x - from));
        children.push({
          type: 'rect',
          shape: {x: left, y: y - half, width: width, height: 2 * half},
          style: {fill: open ? 'none' : args.colour, stroke: args.colour, lineWidth: open ? 1.4 : 0, lineDash: row.style & STYLE.unranked ? [4, 2.5] : undefined}
        });
        if (hatched) children.push(hatching(left, y - half, width, 2 * half, args.colour));
        else if (args.inner)
          children.push(path('M' + left + ' ' + y + 'h' + width, stroke(open ? args.colour : args.paper, 1.6, [5, 3])));
        if (whisker) children.push(whisker);
      }
      var words = args.percent ? formatNumber(100 * row.value) + THIN + '%' : formatNumber(row.value) + (args.unit || '');
      if (row.text && !args.below) words += '  ' + row.text;
      var away = owner.log && !args.base ? Math.max(end + 6, x + 10) : Math.max(end, from) + 6;
      children.push(text(words, away, y, {fill: ink, fontSize: font}));
      return {type: 'group', children: children};
    };
  },

  // A marker in a category's row, with a horizontal whisker.
  dot: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], y = slotY(args, api, row).centre;
      if (!isNumber(row.value)) return nothing();
      var x = api.coord([row.value, row.group])[0], children = [];
      if (isNumber(row.low) && isNumber(row.high) && row.low > 0) {
        var from = api.coord([row.low, row.group])[0], to = api.coord([row.high, row.group])[0];
        if (!behind(x, from, to, 4.5)) children.push(xWhisker(from, to, y, 3, args.ink));
      }
      children.push(marker(args.marker, x, y, 4.5, row.style, args.colour, args.paper));
      if (row.style & STYLE.hatched) children.push(path('M' + (x - 3) + ' ' + (y + 3) + 'l6 -6', stroke(args.colour, 1.2)));
      return {type: 'group', children: children};
    };
  },

  // Right of the panel, which targets of a category have no value, and why; where `width` does not suffice their number.
  absentees: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], box = params.coordSys, words = [], of = [];
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
          if (of[mark]) words.push(MARKS[mark].charAt(0) + THIN + (of[mark].length > 1 ? of[mark].length + ' targets' : of[mark][0]));
      }
      var line = args.width ? cutTo(words.join('  '), args.width, '11px', owner.measure) : words.join('  ');
      return text(line, box.x + box.width + 8, api.coord([1, row.group])[1], {fill: args.ink2});
    };
  },

  // A part of a category's bar, as long as its value, that begins at x; the row's text after it.
  segment: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], from = api.coord([row.x, row.group]), to = api.coord([row.x + row.value, row.group])[0];
      var half = Math.min(18, api.size([0, 1])[1] * 0.8) / 2, children = [];
      if (row.value > 0)
        children.push({
          type: 'rect',
          shape: {x: from[0], y: from[1] - half, width: Math.max(0.5, to - from[0]), height: 2 * half},
          style: {fill: args.colour, stroke: args.ink2, lineWidth: 0.5}
        });
      if (row.text) children.push(text(row.text, to + 6, from[1], {fill: args.ink}));
      return {type: 'group', children: children};
    };
  },

  // The text of a row in its category's line, right of the panel.
  beside: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], box = params.coordSys;
      return row.text ? text(row.text, box.x + box.width + 8, api.coord([1, row.group])[1], {fill: args.ink}) : nothing();
    };
  },

  // A thin line from the least to the greatest value of a category's row.
  span: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], low = Infinity, high = -Infinity, first = -1;
      for (var i = 0; i < owner.rows.length; i++) {
        if (owner.rows[i].group !== row.group) continue;
        if (first < 0) first = i;
        if (!isNumber(owner.rows[i].value)) continue;
        low = Math.min(low, owner.rows[i].value);
        high = Math.max(high, owner.rows[i].value);
      }
      if (first !== params.dataIndex || !(low < high)) return nothing();
      var a = api.coord([low, row.group]), b = api.coord([high, row.group]);
      return path('M' + a[0] + ' ' + a[1] + 'H' + b[0], stroke(args.colour, 1));
    };
  },

  // A marker at x and value, with the interval of the value; `across`: of x. Without a value the status at the axis.
  point: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex];
      if (!isNumber(row.value)) return nothing();
      var p = api.coord([row.x, row.value]), children = [];
      if (isNumber(row.low) && isNumber(row.high) && (args.across || !owner.logY || row.low > 0) && !args.sized) {
        var at = args.across ? 0 : 1, size = args.size || 4;
        var from = api.coord(args.across ? [row.low, row.value] : [row.x, row.low])[at];
        var to = api.coord(args.across ? [row.high, row.value] : [row.x, row.high])[at];
        if (!behind(p[at], from, to, size))
          children.push(args.across ? xWhisker(from, to, p[1], 4, args.ink) : yWhisker(p[0], from, to, 4, args.ink));
      }
      if (row.style & STYLE.ringed)
        children.push({type: 'circle', shape: {cx: p[0], cy: p[1], r: 9}, style: stroke(args.ink, 1.2)});
      children.push(marker(args.marker, p[0], p[1], args.sized ? row.high : args.size || 4, row.style, args.colour, args.paper));
      if (row.style & STYLE.hatched) children.push(path('M' + (p[0] - 3) + ' ' + (p[1] + 3) + 'l6 -6', stroke(args.colour, 1.2)));
      return {type: 'group', children: children};
    };
  },

  // Above the x axis, the marks of rows without a value, one over the other, where no point is. `once`: each mark once at an x.
  absent: function(args, owner) {
    var taken = [];
    return function(params, api) {
      if (params.dataIndex === 0) taken = [];
      var row = owner.rows[params.dataIndex], box = params.coordSys;
      if (isNumber(row.value) || !row.mark || !isNumber(row.x)) return nothing();
      var x = api.coord([row.x, owner.yAxis.min])[0], y = box.y + box.height - 9, glyph = MARKS[row.mark].charAt(0);
      var points = owner.panel.filter(function(other) { return isNumber(other.value) && other.x === row.x; });
      points = points.map(function(other) { return api.coord([other.x, other.value])[1]; });
      for (var level = 0; level < 12; level++, y -= 13) {
        var free = true;
        for (var i = 0; i < taken.length; i++) {
          if (args.once && taken[i][2] === glyph && Math.abs(taken[i][0] - x) < 1) return nothing();
          if (Math.abs(taken[i][0] - x) < 14 && Math.abs(taken[i][1] - y) < 12) free = false;
        }
        for (var k = 0; k < points.length; k++) if (Math.abs(points[k] - y) < 11) free = false;
        if (!free) continue;
        taken.push([x, y, glyph]);
        return text(glyph, x, y, {fill: args.ink2, align: 'center', fontSize: 13, fontWeight: 'bold'});
      }
      return nothing();
    };
  },

  // The text of a row beside its point, where no other text of the series is. `always`: there in any case; `paper`: lines do not show through.
  name: function(args, owner) {
    var taken = [];
    return function(params, api) {
      if (params.dataIndex === 0) taken = [];
      var row = owner.rows[params.dataIndex], box = params.coordSys;
      if (!isNumber(row.value) || !row.text) return nothing();
      var style = {fill: args.ink, stroke: args.paper, lineWidth: args.paper ? 3 : 0};
      var p = api.coord([row.x, row.value]), width = owner.measure(row.text, '11px') + 4, away = args.sized ? row.high + 4 : 8;
      var begin = isNumber(row.low) && args.left ? Math.min(p[0], api.coord([row.low, row.value])[0]) : p[0];
      var places = [[p[0] + away, p[1]], [begin - away + 2 - width, p[1]], [p[0] - width / 2, p[1] - away - 5], [p[0] - width / 2, p[1] + away + 5]];
      if (args.left) places = [places[1], [(isNumber(row.high) ? Math.max(p[0], api.coord([row.high, row.value])[0]) : p[0]) + away, p[1]], [p[0] + away - 2, p[1] + 13]];
      for (var i = 0; i < places.length; i++) {
        var x = places[i][0], y = places[i][1];
        var free = x > box.x + 3 && x + width < box.x + box.width && y - 7 > box.y && y + 7 < box.y + box.height;
        for (var k = 0; k < owner.panel.length && args.apart; k++) {
          var q = isNumber(owner.panel[k].value) ? api.coord([owner.panel[k].x, owner.panel[k].value]) : [-99, -99];
          if (Math.abs(q[1] - y) < 12 && x < q[0] + 6 && q[0] - 6 < x + width) free = false;
        }
        for (var j = 0; j < taken.length; j++)
          if (x < taken[j][0] + taken[j][2] && taken[j][0] < x + width && Math.abs(y - taken[j][1]) < 14) free = false;
        if (!free) continue;
        taken.push([x, y, width]);
        return text(row.text, x, y, style);
      }
      return args.always ? text(row.text, places[0][0], places[0][1], style) : nothing();
    };
  },

  // A cell of a table of ratios: the darker, the slower.
  heat: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], p = api.coord([row.series, row.group]), size = api.size([1, 1]);
      var width = size[0] - 3, height = size[1] - 3, shape = {x: p[0] - width / 2, y: p[1] - height / 2, width: width, height: height};
      if (!isNumber(row.value))
        return {type: 'group', children: [
          {type: 'rect', shape: shape, style: stroke(args.grid, 1)},
          text(row.mark ? MARKS[row.mark] : '', p[0], p[1], {fill: args.ink2, align: 'center'})
        ]};
      var share = Math.min(1, Math.max(0, Math.log(row.value) / Math.LN10));
      var step = Math.round(share * (args.scale.length - 1));
      var hatched = row.style & STYLE.hatched, unranked = row.style & STYLE.unranked, plain = hatched || unranked;
      var children = [{type: 'rect', shape: shape, style: {
        fill: plain ? args.paper : args.scale[step], stroke: unranked ? args.ink2 : args.grid, lineWidth: 1, lineDash: unranked ? [4, 2.5] : undefined
      }}];
      if (hatched) children.push(hatching(shape.x, shape.y, width, height, args.grid));
      children.push(text(formatNumber(row.value), p[0], p[1], {
        fill: plain ? args.ink : args.words[step], align: 'center', fontSize: 12,
        fontWeight: row.style & STYLE.bold ? 'bold' : 'normal'
      }));
      return {type: 'group', children: children};
    };
  },

  // The area between low and high from each row to the next one.
  band: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], next = owner.rows[params.dataIndex + 1];
      if (!next || !isNumber(row.low) || !isNumber(next.low)) return nothing();
      return {
        type: 'polygon', silent: true,
        shape: {points: [api.coord([row.x, row.low]), api.coord([next.x, next.low]), api.coord([next.x, next.high]), api.coord([row.x, row.high])]},
        style: {fill: args.colour, opacity: args.opacity || 0.25}
      };
    };
  },

  // The part of the x axis from low to high.
  region: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex], box = params.coordSys;
      var a = api.coord([row.low, owner.yAxis.max])[0], b = api.coord([row.high, owner.yAxis.max])[0];
      return {type: 'group', silent: true, children: [
        {type: 'rect', shape: {x: a, y: box.y, width: b - a, height: box.height}, style: {fill: args.colour, opacity: 0.6}},
        text(row.text || '', a + 6, box.y + 10, {fill: args.ink2})
      ]};
    };
  },

  // A line through the panel at x or at y.
  rule: function(args, owner) {
    return function(params, api) {
      var box = params.coordSys;
      if (isNumber(args.x)) {
        var x = api.coord([args.x, owner.yAxis.data ? owner.yAxis.data[0] : owner.yAxis.min])[0];
        return path('M' + x + ' ' + box.y + 'v' + box.height, stroke(args.colour, 1, args.dash));
      }
      var y = api.coord([owner.xAxis.min, args.y])[1];
      return path('M' + box.x + ' ' + y + 'h' + box.width, stroke(args.colour, 1, args.dash));
    };
  },

  // A dotted line through the panel with the row's text, right of it, or left of it where the picture ends: as far up as there is
  // neither another text nor a point with its interval.
  event: function(args, owner) {
    var taken = [];
    return function(params, api) {
      var row = owner.rows[params.dataIndex], box = params.coordSys, x = api.coord([row.x, owner.yAxis.max])[0];
      if (params.dataIndex === 0) {
        taken = owner.panel.filter(function(other) { return isNumber(other.value); }).map(function(other) {
          var low = api.coord([other.x, isNumber(other.low) ? other.low : other.value]);
          var high = api.coord([other.x, isNumber(other.high) ? other.high : other.value]);
          return [low[0] - 5, low[0] + 5, high[1] - 4, low[1] + 4];
        });
      }
      var words = cutTo(row.text || '', box.width - 4, '11px', owner.measure), width = owner.measure(words, '11px');
      var left = x + 4 + width > box.x + box.width + 32 ? Math.max(box.x + 2, x - 4 - width) : x + 4, children = [];
      children.push(path('M' + x + ' ' + box.y + 'v' + box.height, stroke(args.colour, 1, [2, 3])));
      for (var y = box.y + 9; y < box.y + box.height - 6; y += 13) {
        var free = taken.every(function(other) {
          return left > other[1] + 3 || left + width + 3 < other[0] || y - 7 > other[3] || y + 7 < other[2];
        });
        if (!free) continue;
        taken.push([left, left + width, y - 6, y + 6]);
        children.push(text(words, left, y, {fill: args.ink2}));
        break;
      }
      return {type: 'group', children: children};
    };
  },

  // The text of a row above its category's bar, from the left edge of the panel.
  sentence: function(args, owner) {
    return function(params, api) {
      var row = owner.rows[params.dataIndex];
      var y = api.coord([owner.xAxis.min, row.group])[1], band = api.size([0, 1])[1];
      return text(row.text || '', params.coordSys.x + 2, y + band / 2 - 22,
                  {fill: args.ink, fontSize: 12, lineHeight: 15, verticalAlign: 'bottom'});
    };
  },

  // What a row is of, its value with unit and interval, and what its mark means.
  tooltip: function(args, owner) {
    return function(params) {
      var shown = owner.all[params.seriesIndex], row = shown && shown.rows[params.dataIndex];
      if (!row) return '';
      var words = [row.group, INTERNAL.indexOf(row.series) < 0 ? row.series : ''].filter(function(word) { return word; }).join(', ');
      if (shown.time && isNumber(row.x)) words += '\n' + formatTime(row.x, true);
      if (shown.batch && isNumber(row.x)) words += '\nbatch ' + formatTick(row.x);
      var value = shown.across ? row.x : row.value;
      function number(of) { return formatNumber(shown.percent ? 100 * of : of); }
      if (isNumber(value)) {
        words += '\n' + number(value) + (shown.percent ? THIN + '%' : shown.unit === '×' ? '×' : shown.unit ? ' ' + shown.unit : '');
        if (isNumber(row.low) && isNumber(row.high)) words += ' (' + number(row.low) + ' to ' + number(row.high) + ')';
      } else if (row.mark) {
        words += '\n' + MARKS[row.mark];
      }
      if (shown.across) words += '\n' + formatTick(100 * row.value) + THIN + '% of the samples took at most this time';
      if (row.style & STYLE.unranked && String(row.text).indexOf('not ranked') < 0) words += ', not ranked';
      if (row.style & STYLE.hatched) words += ', simulated or software';
      return row.text && !shown.across ? words + '\n' + row.text : words;
    };
  },

  // The label of a category, cut in its middle to `width` pixels.
  category: function(args, owner) {
    return function(value) {
      return args.width ? cutTo(String(value), args.width, args.font || '12px', owner.measure) : String(value);
    };
  }
};

function functionNames() {
  return Object.keys(functions).sort();
}

// ----- from the chart's option to that of ECharts ----------------------------------------------------------------------------

function withColours(value, tokens) {
  if (Array.isArray(value)) return value.map(function(item) { return withColours(item, tokens); });
  if (value === null || typeof value !== 'object') return value;
  if (value.$colour !== undefined) {
    var colour = tokens[value.$colour];
    if (colour === undefined) throw new Error('unknown colour ' + value.$colour);
    return colour;
  }
  var result = {};
  for (var key in value) result[key] = key === 'source' ? value[key] : withColours(value[key], tokens);
  return result;
}

function withFunctions(value, owner) {
  if (Array.isArray(value)) return value.map(function(item) { return withFunctions(item, owner); });
  if (value === null || typeof value !== 'object') return value;
  if (value.$fn !== undefined) {
    if (!Object.prototype.hasOwnProperty.call(functions, value.$fn)) throw new Error('unknown function ' + value.$fn);
    return functions[value.$fn](value, owner);
  }
  for (var key in value) if (key !== 'data') value[key] = withFunctions(value[key], owner);
  return value;
}

function matches(row, wanted) {
  return row.panel === wanted.panel && (wanted.series === undefined || row.series === wanted.series);
}

function dataOf(series, rows) {
  if (series.type === 'line')
    return rows.map(function(row) { return [row.x, isNumber(row.value) ? row.value : null]; });
  if (series.$by === 'cell') return rows.map(function(row) { return [row.series, row.group]; });
  if (series.$by === 'point') return rows.map(function(row) { return [row.x, row.value]; });
  return rows.map(function(row) { return [row.value, row.group]; });
}

// The series of rows that have no name of their own.
var INTERNAL = ['points', 'percentiles', 'bins'];
var UNIT = /(?:^|[ (,])(ms|s|MB|items\/s|tokens\/s)(?:$|[ ),])/;

// What a tooltip must know of a series. The unit is in the range of the axis that has the values, or in its name, or in the title of
// the panel: "latency (ms, lower is better)".
function shownBy(series, rows, result, ranges) {
  var draws = series.renderItem || {}, x = series.xAxisIndex || 0, y = series.yAxisIndex || 0;
  var along = draws.across || series.$by === 'category', axis = along ? result.xAxis[x] : result.yAxis[y];
  var range = (along ? ranges.xAxis[x] : ranges.yAxis[y]) || {}, grid = (result.grid || [])[x] || {}, unit = draws.unit || range.unit || '';
  var titles = (result.title || []).filter(function(title) { return title.left === grid.left && Math.abs(title.top - grid.top + 20) < 0.5; });
  [axis && axis.name, titles.length ? titles[0].text : ''].forEach(function(words) {
    var found = UNIT.exec(words || '');
    if (!unit && found && series.$by !== 'cell') unit = found[1];
  });
  return {
    rows: rows,
    across: draws.across,
    percent: draws.percent,
    unit: unit,
    batch: result.xAxis[x].name === 'batch size',
    time: (ranges.xAxis[x] || {}).scale === 'time'
  };
}

/**
 * The option for ECharts. `tokens`: the theme's colours. `measure(text, font)`: the width of a text in pixels.
 * The option is not changed; call it again with other rows in `dataset.source` to draw them.
 */
function resolve(option, tokens, measure) {
  measure = measure || function(words) { return words.length * 7; };
  var rows = rowsOf(option.dataset), result = withColours(option, tokens), all = [];
  var ranges = {xAxis: [], yAxis: []};
  delete result.dataset;
  ['xAxis', 'yAxis'].forEach(function(name) {
    (result[name] || []).forEach(function(axis) {
      ranges[name].push(axis.$range);
      if (axis.$range) setRange(axis, rows);
      if (axis.$categories) setCategories(axis, rows);
      withFunctions(axis, {measure: measure});
    });
  });
  (result.series || []).forEach(function(series) {
    var own = series.$rows ? rows.filter(function(row) { return matches(row, series.$rows); }) : [{}];
    var xAxis = result.xAxis[series.xAxisIndex || 0], yAxis = result.yAxis[series.yAxisIndex || 0];
    series.data = series.$rows ? dataOf(series, own) : [[xAxis.min, yAxis.data ? yAxis.data[0] : yAxis.min]];
    all.push(shownBy(series, own, result, ranges));
    var panel = series.$rows ? rows.filter(function(row) { return row.panel === series.$rows.panel; }) : [];
    withFunctions(series, {rows: own, panel: panel, xAxis: xAxis, yAxis: yAxis, log: xAxis.type === 'log', logY: yAxis.type === 'log', measure: measure});
    delete series.$rows;
    delete series.$by;
  });
  if (result.tooltip) withFunctions(result.tooltip, {all: all});
  result.animation = false;
  result.textStyle = result.textStyle || {};
  result.textStyle.fontFamily = FONT;
  return result;
}

// As sort() of an array, but equal items keep their order. That of Duktape takes random pivots, so that of two labels without room for
// both sometimes the one and sometimes the other was left out.
function stableSort(compare) {
  var order = compare || function(a, b) { return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0; };
  var items = this.filter(function(item) { return item !== undefined; }), count = items.length;
  for (var width = 1; width < count; width *= 2) {
    var merged = [];
    for (var from = 0; from < count; from += 2 * width) {
      var middle = Math.min(from + width, count), to = Math.min(from + 2 * width, count), i = from, j = middle;
      while (i < middle || j < to)
        merged.push(j >= to || (i < middle && order(items[i], items[j]) <= 0) ? items[i++] : items[j++]);
    }
    items = merged;
  }
  for (var at = 0; at < this.length; at++) this[at] = items[at];
  return this;
}

/** The SVG document of an option, both as text. */
function render(init, setPlatformAPI, option, tokens, width, height, measure) {
  if (typeof Duktape !== 'undefined') Array.prototype.sort = stableSort;
  setPlatformAPI({measureText: function(words, font) { return {width: measure(words, font || '12px')}; }});
  var chart = init(null, null, {renderer: 'svg', ssr: true, width: width, height: height});
  try {
    chart.setOption(resolve(JSON.parse(option), JSON.parse(tokens), measure));
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}

export {formatNumber, functionNames, render, resolve};
