// SPDX-License-Identifier: Apache-2.0
// Limits, ticks and categories of axes.

import { formatCount, formatTick, formatTime, isNumber, THIN } from './words.js';

function extent(rows, range) {
  var low = Infinity,
    high = -Infinity;
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
  var first = Math.floor(low / step + 1e-9),
    last = Math.ceil(high / step - 1e-9);
  var ticks = [];
  for (var i = first; i <= last; i++) ticks.push(rounded(i * step));
  return ticks;
}

// 1-2-5; over more than three decades powers of ten; equal distances if the limits are near each other.
function logTicks(low, high) {
  if (high / low < 4) {
    var least = Math.sqrt(1.2),
      middle = Math.sqrt(low * high); // a small difference is not blown up
    var near = linearTicks(Math.min(low, middle / least), Math.max(high, middle * least), false, 4);
    if (near[0] > 0) return { ticks: near, limits: [near[0], near[near.length - 1]] };
  }
  var all = [];
  var from = Math.floor(Math.log(low) / Math.LN10 - 1e-9),
    to = Math.ceil(Math.log(high) / Math.LN10 + 1e-9);
  for (var power = from; power <= to; power++)
    [1, 2, 5].forEach(function (unit) {
      all.push(rounded(unit * Math.pow(10, power)));
    });
  var first = 0,
    last = all.length - 1;
  while (first + 1 < all.length && all[first + 1] <= low * 1.0000001) first++;
  while (last > 0 && all[last - 1] >= high * 0.9999999) last--;
  if (first === last) {
    if (last + 1 < all.length) last++;
    else first--;
  }
  var ticks = all.slice(first, last + 1);
  var limits = [ticks[0], ticks[ticks.length - 1]];
  if (ticks.length > 9) {
    var tens = ticks.filter(function (tick) {
      var power = Math.log(tick) / Math.LN10;
      return Math.abs(power - Math.round(power)) < 1e-9;
    });
    if (tens.length >= 2) ticks = tens;
  }
  return { ticks: ticks, limits: limits };
}

// Limits near the values, between two ticks; those of logTicks(), or finer ones where fewer than three would be left.
function tightTicks(low, high) {
  var middle = Math.sqrt(low * high),
    least = Math.sqrt(1.2);
  low = Math.min(low, middle / least);
  high = Math.max(high, middle * least);
  var room = Math.pow(high / low, 0.04),
    limits = [low / room, high * room];
  function inside(ticks) {
    return ticks.filter(function (tick) {
      return tick >= limits[0] && tick <= limits[1];
    });
  }
  var ticks = inside(logTicks(low, high).ticks);
  for (var count = 4; ticks.length < 3 && high / low < 10 && count < 16; count += 2)
    ticks = inside(linearTicks(low, high, false, count));
  return { ticks: ticks, limits: limits };
}

var TIME_STEPS = [
  60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 259200, 604800, 1209600, 2592000, 7776000, 31536000,
];

function timeTicks(low, high) {
  if (high - low < 120) {
    low -= 60;
    high += 60;
  }
  var step = TIME_STEPS[TIME_STEPS.length - 1];
  for (var i = TIME_STEPS.length - 1; i >= 0; i--) if ((high - low) / TIME_STEPS[i] <= 5) step = TIME_STEPS[i];
  var ticks = [];
  for (var at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
  var margin = (high - low) * 0.03;
  return { ticks: ticks, limits: [low - margin, high + margin], step: step };
}

function setRange(axis, rows) {
  var range = axis.$range;
  var span = extent(rows, range) || (range.scale === 'log' ? [1, 10] : [0, 1]);
  var scale = range.scale;
  if (scale === 'auto') scale = span[0] > 0 && span[1] / span[0] >= 30 ? 'log' : 'linear';
  var ticks,
    limits,
    format = formatTick;
  if (scale === 'log') {
    var log = (range.tight ? tightTicks : logTicks)(span[0], span[1]);
    ticks = range.ticks || log.ticks;
    limits = log.limits;
  } else if (scale === 'time') {
    var time = timeTicks(span[0], span[1]);
    ticks = time.ticks;
    limits = time.limits;
    format = function (value) {
      return formatTime(value, time.step < 86400);
    };
  } else {
    ticks = linearTicks(span[0], span[1], range.zero, range.count || 5);
    limits = [ticks[0], ticks[ticks.length - 1]];
    if (scale === 'share')
      format = function (value) {
        return formatTick(value * 100) + (THIN + '%');
      };
  }
  if (range.count_words) format = formatCount;
  if (range.each) {
    // a tick at each of the values, such as batch sizes
    var seen = {},
      values = [];
    rows.forEach(function (row) {
      var value = row[range.columns[0]];
      if ((range.panels && range.panels.indexOf(row.panel) < 0) || !isNumber(value) || seen[value]) return;
      seen[value] = true;
      values.push(value);
    });
    values.sort(function (a, b) {
      return a - b;
    });
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
  var wanted = axis.$categories,
    seen = {},
    names = [];
  rows.forEach(function (row) {
    var name = row[wanted.column || 'group'];
    if (row.panel !== wanted.panel || !name || seen['_' + name]) return;
    seen['_' + name] = true;
    names.push(name);
  });
  axis.data = names;
  delete axis.$categories;
}

export { setCategories, setRange };
