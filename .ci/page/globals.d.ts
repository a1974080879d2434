// What the page's other scripts bring, and vendored modules without types of their own.

declare var uPlot: any;
