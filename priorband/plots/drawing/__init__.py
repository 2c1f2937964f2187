"""What all figures are drawn with: style, ticks, panels, curves, violins, SVG."""
