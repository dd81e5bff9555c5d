// The names of encode-names.jsonl: words of many scripts, the shapes that real
// titles, paths and arguments have, the edges of the length limit, and mixtures
// drawn from a fixed sequence.

const words = `
Hello World|François Mitterrand|COVID-19 pandemic|José María Aznar|King George III|Björk|Antonín Dvořák
Łódź|Gdańsk|Kraków|Ørsted|Århus|Æsir|Œuvre|Straße|GROẞE STRAẞE|Þingvellir|Reykjavík|Ísafjörður|naïve café|piñata
İstanbul|ısırgan|Iğdır|Şanlıurfa|Çanakkale|Diyarbakır|Žižkov|Čeština|Škoda|Ďábel|Ťažký|Ľubľana|Őrség|Űrhajó|Ţara|Țara|Bucureşti|București
Việt Nam|Thành phố Hồ Chí Minh|Nguyễn Huệ|Đà Nẵng|Phở bò|Ấn Độ|Ưu tiên|Hoàng Liên Sơn|Ǎǒ pīnyīn|lǜsè|Ḥadīth|ʻOkina|Māori|Yorùbá|Ẹ̀kọ́|Ǻngström|Ǭ
Москва|Санкт-Петербург|Ёлка|Йошкар-Ола|Київ|Їжак|Беларусь|Ўзбекистон|България|Ѓорче|Ќосе|Србија|Ћуприја|Қазақстан|Ӂ
Αθήνα|Ελλάδα|Ὀδύσσεια|ᾧδε|Ὦ|ΣΊΣΥΦΟΣ|ς|Ϊ́|Άγιος Νικόλαος|ὅπερ ἔδει δεῖξαι
ירושלים|תל אביב|שָׁלוֹם|בְּרֵאשִׁית|ﬠברית|القاهرة|السُّعُودِيَّة|آدم|أحمد|مؤمن|ئەرک|تهران|پاکستان|ۀ|ۓ
日本|東京|大阪府|ガンダム|がんばれ|ぱんだ|ハードウェア|ﾊﾝｶｸ|ｶﾞｷﾞ|ゟヿ|々〆ヶ|北京|上海市|臺灣|香港特別行政區|中华人民共和国|豈更車賈|塀晴﨑|𠮷野家|丽丸乁|𠔜|㍿|㎏
대한민국|서울특별시|부산|가각간갇갈|힣|각|ㄱㄴㄷ|김치찌개|조선 왕조 실록
भारत|हिन्दी|क़लम|ज़िंदगी|ऩऱऴ|বাংলাদেশ|কো|ড়ঢ়য়|ਪੰਜਾਬੀ|ਸ਼ਖ਼ਗ਼|ગુજરાત|ଓଡ଼ିଶା|ୋୌ|தமிழ்|கொடி|తెలుగు|ౖై|ಕನ್ನಡ|ೋ|മലയാളം|ൊ|සිංහල|කො|ෝ
ไทย|กรุงเทพมหานคร|ພາສາລາວ|ມ່ວນ|བོད་ཡིག|ཀྵ|ཱི|မြန်မာ|ဦး|ភាសាខ្មែរ|ᬆᬈ|ꦗꦮ|ᜊᜌ᜔ᜊᜌᜒᜈ᜔|ᠮᠣᠩᠭᠣᠯ|አማርኛ|ქართული|ᲥᲐᲠᲗᲣᲚᲘ|Հայաստան|ⵜⴰⵎⴰⵣⵉⵖⵜ|ᏣᎳᎩ|ᐃᓄᒃᑎᑐᑦ|ߒߞߏ|ꆈꌠ
𐐀𐐨|𝔘𝔫𝔦𝔠𝔬𝔡𝔢|𝕳𝖊𝖑𝖑𝖔|𝟘𝟙𝟚|𓀀𓁐|𒀀𒁹|𑂚𑂜𑂫|𑄮|𑍋|𑒻|𑖺|𑤸|𝅗𝅥|𝅘𝅥𝅮|𝆹𝅥𝅮|𐎀|𖵨𖵩𖵪|𖄡𖄨|𑎃𑎅𑎎𑎑|𑏅𑏇𑏈|🜁|𞤀𞤢
😀|👩‍👩‍👧‍👦|👍🏽|🇯🇵|1️⃣|☺️|❤️‍🔥|🏴󠁧󠁢󠁳󠁣󠁴󠁿|x😀y|😀 grin|caf😀é
`;

const shapes = [
  '', ' ', '  ', 'a  b', ' lead', 'trail ', '\t', '\n', 'a\tb\r\nc', '\u00a0', '\u2003wide\u2003', '\u3000', '\ufeffbom', '\u200bzero\u200dwidth', '\u00adsoft',
  'a', 'Z', '0', '-', '_', '--', '__', 'a-b_c', 'A-B_C', '.', '..', '...', '.hidden', 'readme.md', 'README.md', 'archive.tar.gz', 'a/b', '/a/b/', '../../etc/passwd',
  'a\\b', 'C:\\dir\\file', 'con', 'nul', 'index', '_schema', 'mcp.json', 'file:///a//b', 'http://example.com:8080/a?b=c&d=%20#e', 'urn:isbn:0451450523', 'mailto:a@example.com',
  '%41%2f%00', 'a+b', 'a=b', '~user', '@scope/pkg', '#42', '$HOME', '100%', 'C#', 'C++', 'F♯', 'AT&T', "L'Été", '“quoted”', '«guillemets»', '¡Hola!', '¿Qué?', '…', '—', '–', '‐', '−',
  '0', '1', '-1', '1.0', '0.5', '1e21', '-0', '9007199254740993', 'true', 'false', 'null', '[1,2]', '{"a":1}', '["x","y"]', '1,2', '\u0000', '\u0001\u001f', '\u007f', '\u0080\u009f',
  '\ud800', '\udc00', 'a\ud800b', '\ud83d', '\ude00\ud83d', '\ufffd', '\uffff', '\ufdd0', '\u{10ffff}', '\ue000', '\u{f0000}',
  'e\u0301', '\u00e9', '\u0301', '\u0301\u0301', 'a\u0323\u0307', 'a\u0307\u0323', 'q\u0307\u0323', 'q\u0323\u0307', '\u1e69', 's\u0323\u0307', '\u0344', '\u0340\u0341', '\u0343', '\u0345', '\u036f', '\u0370',
  'x\u1ab0', 'x\u1dc4', 'x\u1dff', 'x\u20d0', 'x\u20dd', 'x\u20ff', 'x\ufe20', 'x\ufe2f', 'x\u1b00', 'x\u0488', 'x\u05b0', 'x\u3099', 'か\u3099', 'ハ\u309a', '\u0f71\u0f72\u0f74', '\u09c7\u09be',
  '\u212a', '\u212b', '\u2126', '\u2160', '\u24d0', '\uff21\uff41\uff10', '\u00aa\u00ba', '\u00b2\u00b3\u00b9', '\u00bd', '\u2460', '\ufb01', '\ufb06', '\u0149', '\u01c4', '\u01c5', '\u01f0', '\u0130', '\u0131', '\u017f', '\u1e9b', '\u1e9e', '\u00df',
  '\u2260', '\u2209', '\u226e', '\u2adc', '\u219a', '\u2244', '\u037e', '\u0387', '\u1fef', '\u2000', '\u2329', '\u01d5', '\u01d6\u0301', '\ufb1d', '\ufb1f', '\ufb2c', '\ufa6c', '\ufad9', '\u{2f800}', '\u{2fa1d}', '\u{1d15e}', '\u{1d1c0}',
];

// Pieces whose encodings have every width there is, set around the limit of 200.
const pieces = ['a', 'A', 'é', 'e\u0301', '日', 'が', '각', '가', '😀', '𝅘𝅥𝅮', '𑂚', '\u{2f800}', 'a/', 'ñ-', 'Ж', '\ufffd', '\u0301', 'x\u1dc4', 'Ấ'];
const lengths = [33, 34, 50, 66, 67, 99, 100, 101, 183, 199, 200, 201, 250];

function* mixtures(count) {
  const pool = [...Array.from(words.replace(/[|\n]/g, '')), ...shapes.filter((s) => s !== '')];
  let state = 1n;
  const next = (limit) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(limit));
  };
  for (let i = 0; i < count; i++) {
    let text = '';
    for (let left = 2 + next(12); left > 0; left--) text += pool[next(pool.length)];
    // Every third one is repeated until it lies near or beyond the limit.
    yield [text, i % 3 === 2 ? 6 + next(40) : 1];
  }
}

// names returns [text, times] pairs, each pair once.
export function names() {
  const all = [
    ...words.trim().split(/[|\n]/).map((w) => [w, 1]),
    ...shapes.map((s) => [s, 1]),
    ...pieces.flatMap((p) => lengths.map((n) => [p, n])),
    ['The quick brown fox jumps over the lazy dog. ', 5],
    ['Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch', 4],
    ...mixtures(120),
  ];
  const seen = new Set();
  return all.filter(([text, times]) => {
    const key = JSON.stringify([text, times]);
    return !seen.has(key) && seen.add(key);
  });
}
