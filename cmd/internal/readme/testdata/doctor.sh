# A switch with one port, at whose other end is a plain host, h1, with longer frames. Not everywhere may it
# have a nice value.
printf 'name: leaf1\nnice: 0\npreset: roce\nports: {eth1: {}}\n' >leaf1.yaml
ip -n h1 link set eth0 mtu 9000
ip netns exec h1 ethtool -K eth0 tso off gso off
ip netns exec h1 sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1 || true
