// The least that makes this folder a Docusaurus project.
export default {
  title: 'Rope at Hand',
  url: 'https://rope.example',
  baseUrl: '/',
};
