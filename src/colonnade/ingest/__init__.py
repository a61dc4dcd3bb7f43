"""The write path: sources of frames to sorted, committed parts."""
