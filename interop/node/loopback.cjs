// Has every server in this process listen on 127.0.0.1, and say on which port.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  if (typeof args[0] !== 'number' && !/^\d+$/.test(String(args[0]))) return listen.apply(this, args);
  this.once('listening', () => console.error(`port ${this.address().port}`));
  return listen.call(this, { port: Number(args[0]), host: '127.0.0.1' }, args.find((a) => typeof a === 'function'));
};
