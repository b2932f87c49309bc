// SPDX-License-Identifier: Apache-2.0
// Numbers and times as words, and words within a width.

var THIN = '\u2009';
var FONT = 'DejaVu Sans, Verdana, sans-serif'; // without quotes: ECharts writes it into attributes

function isNumber(value) {
  return typeof value === 'number' && isFinite(value);
}

function grouped(text) {
  var parts = text.split('.');
  if (parts[0].replace('-', '').length > 4) parts[0] = parts[0].replace(/(\d)(?=(\d{3})+$)/g, '$1' + THIN);
  return parts.join('.');
}

/**
 * Three significant digits, thousands apart: "0.0123", "8.00", "10 432". The same as number_words() of src/show/chart.
 */
function formatNumber(value) {
  if (!isNumber(value)) return '–';
  if (value === 0) return '0';
  var size = Math.abs(value),
    power = 1,
    exponent = 0;
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
  var units = ['', 'k', 'M', 'G', 'T'],
    at = 0;
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

// The words, with "…" in their middle if they would be wider.
function cutTo(words, width, font, measure) {
  if (measure(words, font) <= width) return words;
  for (var kept = words.length - 1; kept > 1; kept--) {
    var front = Math.ceil(kept / 2),
      cut = words.slice(0, front) + '…' + words.slice(words.length - (kept - front));
    if (measure(cut, font) <= width) return cut;
  }
  return '…';
}

/** The lines of a text that is broken between words; a word that is wider than `width` has a line to itself. */
function wrapped(words, width, font, measure) {
  var lines = [''];
  words.split(' ').forEach(function (word) {
    var last = lines.length - 1,
      longer = lines[last] === '' ? word : lines[last] + ' ' + word;
    if (lines[last] !== '' && measure(longer, font) > width) lines.push(word);
    else lines[last] = longer;
  });
  return lines;
}

/** The lines of the name of a category: "128 tokens" stays together. */
function nameLines(name, width, font, measure) {
  return wrapped(name.replace(/(\d) (?=[a-z])/g, '$1\u00a0'), width, font, measure);
}

export { cutTo, FONT, formatCount, formatNumber, formatTick, formatTime, isNumber, nameLines, THIN, wrapped };
