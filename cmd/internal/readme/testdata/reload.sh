# The switch of the block runs when its ports can be asked for.
ready() { pfcswitch show ports -s leaf1; }
