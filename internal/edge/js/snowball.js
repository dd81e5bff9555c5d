// The machine of Snowball's stemmers: a word with a cursor and limits, which move in UTF-16 units.

// Tables of suffixes are sorted by their bytes in UTF-8, the last byte first.
function backwards(unit) {
  if (unit < 0x80) return unit << 16;
  const last = (0x80 | (unit & 63)) << 16;
  return unit < 0x800 ? last | ((0xc0 | (unit >> 6)) << 8) : last | ((0x80 | ((unit >> 6) & 63)) << 8) | (0xe0 | (unit >> 12));
}

const machine = {
  /** Starts with a word. */
  set(word) {
    Object.assign(this, { s: word, c: 0, l: word.length, lb: 0, bra: 0, ket: word.length });
  },
  replace(bra, ket, text) {
    const change = text.length - (ket - bra);
    this.s = this.s.slice(0, bra) + text + this.s.slice(Math.max(bra, ket));
    this.l += change;
    if (this.c >= ket) this.c += change;
    else if (this.c > bra) this.c = bra;
    return change;
  },
  sliceFrom(text) {
    this.replace(this.bra, this.ket, text);
    return true;
  },
  sliceDel() {
    return this.sliceFrom('');
  },
  sliceTo() {
    return this.s.slice(this.bra, this.ket);
  },
  insert(bra, ket, text) {
    const change = this.replace(bra, ket, text);
    if (bra <= this.bra) this.bra += change;
    if (bra <= this.ket) this.ket += change;
  },
  next() {
    this.c++;
  },
  prev() {
    this.c--;
  },
  hop(n) {
    return this.c + n;
  },
  eq(text) {
    if (this.c >= this.l || !this.s.startsWith(text, this.c)) return false;
    this.c += text.length;
    return true;
  },
  eqB(text) {
    if (this.c - this.lb < text.length || !this.s.startsWith(text, this.c - text.length)) return false;
    this.c -= text.length;
    return true;
  },
  /** Reports whether the unit at i is in a set: the bits from min to max. */
  has(i, bits, min, max) {
    const c = this.s.charCodeAt(i) - min;
    return c >= 0 && c <= max - min && (bits[c >> 3] & (1 << (c & 7))) !== 0;
  },
  inGrouping(bits, min, max) {
    if (this.c >= this.l || !this.has(this.c, bits, min, max)) return false;
    this.c++;
    return true;
  },
  outGrouping(bits, min, max) {
    if (this.c >= this.l || this.has(this.c, bits, min, max)) return false;
    this.c++;
    return true;
  },
  inGroupingB(bits, min, max) {
    if (this.c <= this.lb || !this.has(this.c - 1, bits, min, max)) return false;
    this.c--;
    return true;
  },
  outGroupingB(bits, min, max) {
    if (this.c <= this.lb || this.has(this.c - 1, bits, min, max)) return false;
    this.c--;
    return true;
  },
  /** Finds the longest entry of a sorted table at the cursor and returns its number, or 0. */
  among(table, context) {
    return this.find(table, context, 1);
  },
  /** Does the same for entries that end at the cursor. */
  amongB(table, context) {
    return this.find(table, context, -1);
  },
  find(table, context, direction) {
    const { c, s } = this;
    const room = direction > 0 ? this.l - c : c - this.lb;
    const order = direction > 0 ? (unit) => unit : backwards;
    let i = 0;
    let j = table.length;
    let commonI = 0;
    let commonJ = 0;
    for (let inspected = false; ; ) {
      const k = i + ((j - i) >> 1);
      const word = table[k][0];
      let common = Math.min(commonI, commonJ);
      let difference = 0;
      while (common < word.length) {
        const at = direction > 0 ? c + common : c - common - 1;
        const own = direction > 0 ? common : word.length - common - 1;
        difference = common === room ? -1 : order(s.charCodeAt(at)) - order(word.charCodeAt(own));
        if (difference !== 0) break;
        common++;
      }
      if (difference < 0) [j, commonJ] = [k, common];
      else [i, commonI] = [k, common];
      if (j - i > 1) continue;
      if (i > 0 || j === i || inspected) break;
      inspected = true;
    }
    for (; i >= 0; i = table[i][1]) {
      const [word, , result, condition] = table[i];
      if (commonI < word.length) continue;
      this.c = c + direction * word.length;
      if (!condition) return result;
      const holds = condition(this, context);
      this.c = c + direction * word.length;
      if (holds) return result;
    }
    return 0;
  },
};
