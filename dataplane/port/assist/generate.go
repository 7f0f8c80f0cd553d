package assist

//go:generate bash generate.sh
