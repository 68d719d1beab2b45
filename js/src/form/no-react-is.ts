// Stands in for react-is: every component of preact is a function, and a function is all that the
// form library still has to recognise.
const never = (): boolean => false;

export default { isForwardRef: never, isMemo: never };
