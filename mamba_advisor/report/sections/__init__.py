"""What a report says, part by part: advice in, sections out."""
