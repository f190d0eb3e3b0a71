"""What is said to agents, judged by people; see `guide.md` beside this file."""
