package daemon

// ReadMachine is how a machine is read below a root.
var ReadMachine = readMachine
