# This host has eth0, at a port of a switch.
ip netns add sw
ip link add eth0 type veth peer name p1 netns sw
ip link set eth0 up
ip -n sw link set p1 up
printf 'name: leaf1\npreset: roce\nports: {p1: {}}\n' >leaf1.yaml
ip netns exec sw pfcswitch run -c leaf1.yaml 2>switch.log &
await pfcswitch health -s leaf1
