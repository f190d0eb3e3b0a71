"""What repaired a failure before: observations of failing calls, and the advice that is learned from them. Pure."""
