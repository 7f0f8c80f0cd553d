// This file lets wait.go declare functions without a body.
