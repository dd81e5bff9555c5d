// Runs in a hidden frame at the document's origin: inserts axe-core into the document, and sends
// what it finds to the proxy page.
const { script } = document.currentScript.dataset;
const page = parent.frames[0];

// Rules that are about whole pages, which a document in a frame is not.
const rules = ["bypass", "landmark-one-main", "page-has-heading-one", "region"];
const off = Object.fromEntries(rules.map((name) => [name, { enabled: false }]));

const inserted = () =>
  new Promise((resolve, reject) => {
    const element = page.document.createElement("script");
    element.src = script;
    element.onload = () => (element.remove(), resolve());
    element.onerror = () => (element.remove(), reject(new Error("the document refuses the script")));
    page.document.documentElement.append(element);
  });

const short = (text) => (text.length > 300 ? text.slice(0, 300) + "..." : text);
const finding = ({ id, impact, help, helpUrl, nodes }) => ({
  rule: id,
  impact: impact ?? "",
  help,
  helpURL: helpUrl,
  count: nodes.length,
  nodes: nodes.slice(0, 5).map((n) => ({ html: short(n.html), target: short(n.target.flat().join(" ")) })),
});

const check = async () => {
  const before = page.axe;
  await inserted();
  const { axe } = page;
  if (before) page.axe = before;
  else delete page.axe;
  const { violations } = await axe.run(page.document, { resultTypes: ["violations"], iframes: false, rules: off });
  return violations.slice(0, 100).map(finding);
};

check().then(
  (findings) => parent.postMessage({ findings }, "*"),
  (error) => parent.postMessage({ error: String(error?.message ?? error) }, "*"),
);
