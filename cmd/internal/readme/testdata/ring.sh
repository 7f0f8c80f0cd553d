# The switch of the block keeps the last seconds.
mkdir captures
printf 'capture: {ring: on, directory: %s/captures}\n' "$PWD" >>switch.yaml
