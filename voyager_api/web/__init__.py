"""The pages: templates, styles and the few words that people read in them.

Pages work without JavaScript, load nothing from elsewhere, and are the same in light and dark.
Templates get ready-made values; they hold no logic beyond loops and conditions.
"""
