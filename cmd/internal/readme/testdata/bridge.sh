# p1 ── bridge ── far, on which nothing runs but what answers.
ip netns add bridge
ip netns add far
ip -n bridge link add br0 type bridge
ip link add p1 type veth peer name left netns bridge
ip -n bridge link add right type veth peer name eth0 address 02:00:00:00:00:02 netns far
for end in left right; do ip -n bridge link set $end master br0 up; done
ip -n bridge link set br0 up
ip -n far link set eth0 up
ip link set p1 up
printf 'name: leaf1\npreset: roce\nports: {p1: {}}\n' >leaf1.yaml
pfcswitch run -c leaf1.yaml 2>switch.log &
ip netns exec far pfcswitch linkcheck --answer --interface eth0 >answer.log 2>&1 &
await pfcswitch health -s leaf1
